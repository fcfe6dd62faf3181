// Runs jobs. A job is a program that a child requests by a number over its channel
// (control/channel.h). Service::on_request maps numbers to programs.
//
//   requested ──> waiting ──> running ──> ended
//                    ^         │  ^         │
//                    │         v  │         │
//                    │        paused        │
//                    └──────────────────────┘  requested again during the run: runs once more
//
// The number of running jobs is limited by processes.max_children, and for all services together by
// JobPlaces (job_places.h). Jobs start in the order of their requests; paused jobs continue before
// new jobs start. At most OnRequest::max_paused jobs are paused. Each number is queued only once,
// and the length of the queue is limited to kMaxWaiting. If a job is dropped or fails, no reply is
// sent, because children repeat their requests. The master itself requests some jobs on a schedule
// (OnRequest::of_itself). Such a job can change the time of its next run. A request with a delay is
// queued after the delay; at most kMaxWaiting requests are delayed. A reload asks running jobs to
// end, like all children, and discards waiting jobs and delayed requests.
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
#include "pool/crash_policy.h"
#include "quarry/base/event_handles.h"
#include "quarry/scoreboard/overview.h"

namespace quarry::master {

class Jobs final : public Starter, public JobPlaces::Taker {
 public:
  static constexpr std::size_t kMaxWaiting = 10'000;

  using Figures = scoreboard::JobFigures;

  /// Creates the starter of a service's jobs. All arguments must outlive this object.
  Jobs(Children& children, event_base* base, const MasterState& master_state, JobPlaces& places);
  ~Jobs() override { places_.leave(*this); }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// Counts jobs in POOL, the pool that requests them. POOL must outlive the last job.
  void count_on(PoolWatch& pool) { pool_ = &pool; }

  /// Returns the counters of these jobs by name, for the next master.
  std::map<std::string, std::uint64_t> counters() const;
  /// Starts to count from COUNTERS, the result of counters() in the previous master.
  void count_from(const std::map<std::string, std::uint64_t>& counters);

  /// Handles a request for NUMBER after DELAY by a child of the service FROM.
  void asked(const std::string& from, std::uint32_t number, std::chrono::seconds delay = {});
  Figures figures() const;

  Result<void> set_up() override { return {}; }
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
  /// Handles MESSAGE. Returns false if MESSAGE is not about jobs.
  bool on_message(Child& child, const control::Message& message);
  void change_stage(Child& child, bool pauses);
  /// Queues the master's own jobs and the delayed requests that are due.
  void ask_for_due();
  void ask_later(Request request);
  void run_again(std::uint32_t number, std::chrono::seconds wait);
  /// Among the paused children that want to continue, returns the one that has waited longest, or
  /// null.
  Child* first_resuming() const;
  /// Returns the first request that can be started. Requests for running jobs are skipped.
  Waiting::const_iterator first_to_start() const;
  void count_delay();
  /// Appends REQUEST to the queue, unless its number is already queued.
  void queue(Request request);
  void end_overdue_jobs();

  Children& children_;
  const Service& service_;
  const MasterState& master_state_;
  JobPlaces& places_;
  PoolWatch* pool_ = nullptr;
  RespawnPolicy respawn_;
  base::Event respawn_timer_;
  /// Due times of the master's own jobs, by number.
  std::map<std::uint32_t, std::chrono::steady_clock::time_point> due_;
  Waiting waiting_;
  std::set<std::uint32_t> waiting_numbers_;
  /// Requests with a delay, by number; `since` is the time at which they are queued.
  std::map<std::uint32_t, Request> delayed_;
  Figures figures_;
};

}  // namespace quarry::master
