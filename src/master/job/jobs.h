// Programs that run once for each number that a child asks for over its channel (control/channel.h):
// the service's Service::on_request says which program that is.
//
//   asked ──> waits ──> runs ──> has ended
//               ^        │ ^        │
//               │        v │        │
//               │       pauses      │
//               └───────────────────┘  asked for again meanwhile: once more, however often that was
//
// At most processes.max_children run at once, and of all services together as many as JobPlaces has
// (job_places.h); who waits is served in the order in which he asked, and who has paused before who
// has not begun. Those that pause are OnRequest::most_paused at most. A
// number waits only once, so there is never more to remember than the master knows numbers, and
// never more than kMostWaiting. Nobody is told that a job was dropped or has failed: every request
// may be repeated. Numbers that the master asks for by itself (OnRequest::of_itself) have a time each,
// which their child may set. A reload asks those that run to end, as all children, and forgets those that
// wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "job_places.h"
#include "pool/children.h"
#include "pool/respawn_policy.h"
#include "pool/starter.h"
#include "quarry/base/event_handles.h"

namespace quarry::master {

class Jobs final : public Starter, public JobPlaces::Taker {
 public:
  static constexpr std::size_t kMostWaiting = 10'000;

  struct Figures {
    std::uint64_t asked = 0;    // requests for what the master knows
    std::uint64_t unknown = 0;  // for a number that it does not
    std::uint64_t started = 0;
    std::uint64_t failed = 0;     // ended by a signal, or with another code than 0
    std::uint64_t delayed = 0;    // had to wait for others
    std::uint64_t held_back = 0;  // of those, by the bound over all services
    std::uint64_t dropped = 0;    // too many waited
    std::size_t running = 0;
    std::size_t waiting = 0;
    std::size_t paused = 0;
  };

  /// Of CHILDREN, with events of BASE; both, MASTER_STATE and PLACES must outlive it.
  Jobs(Children& children, event_base* base, const MasterState& master_state, JobPlaces& places);
  ~Jobs() override { places_.leave(*this); }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// POOL, whose children ask, tells how many ran and were delayed. It must outlive the last job.
  void count_on(PoolWatch& pool) { pool_ = &pool; }

  /// A child of the service called FROM asks for NUMBER.
  void asked(const std::string& from, std::uint32_t number);
  Figures figures() const;

  base::Result<void> set_up() override { return {}; }
  bool begin() override { return true; }
  void second_passed() override;
  Vacancy child_ended(const Remains& remains) override;
  void fill_vacancy(const Remains&) override { places_.share_out(); }
  void room_available() override { places_.share_out(); }
  bool is_short() const override { return !waiting_.empty(); }

  std::size_t running() const override { return count_of(JobStage::kRunning); }
  std::optional<JobTurn> first_waiting() const override;
  bool take_place() override;

 private:
  struct Request {
    std::string from;
    std::uint32_t number = 0;
    std::chrono::steady_clock::time_point since;
  };
  using Waiting = std::deque<Request>;

  std::size_t count_of(JobStage stage) const;
  bool has_place() const;
  bool may_start() const;
  /// Whether MESSAGE was for this.
  bool on_message(Child& child, const control::Message& message);
  void change_stage(Child& child, bool pauses);
  /// What the master asks for by itself, where its time has come.
  void ask_for_due();
  void run_again(std::uint32_t number, std::chrono::seconds wait);
  /// The one that has asked longest to go on; null: none has.
  Child* first_resuming() const;
  /// The first that can be started: what runs already runs once more only when it has ended.
  Waiting::const_iterator first_to_start() const;
  /// Somebody has to wait.
  void count_delay();
  /// Puts REQUEST at the end of those who wait, unless its number is among them.
  void queue(Request request);
  void end_overdue_jobs();

  Children& children_;
  const Service& service_;
  const MasterState& master_state_;
  JobPlaces& places_;
  PoolWatch* pool_ = nullptr;
  RespawnPolicy respawn_;
  base::Event respawn_timer_;
  /// When the master asks by itself, by number.
  std::map<std::uint32_t, std::chrono::steady_clock::time_point> due_;
  Waiting waiting_;
  std::set<std::uint32_t> waiting_numbers_;
  Figures figures_;
};

}  // namespace quarry::master
