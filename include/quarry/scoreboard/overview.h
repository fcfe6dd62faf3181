// A summary of all pools for the status page with pm.status_all. The summary contains figures and
// the latest refusals, but not the running requests. The metrics of all pools use it, too.
//
// A worker can read only its own pool's board (scoreboard.h), so the master copies the figures of
// all pools to this memory once a second. Only the master can write to the memory. The master's
// children have a mapping that the kernel keeps read-only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "quarry/base/listen_queue.h"
#include "quarry/base/result.h"
#include "quarry/scoreboard/counters.h"
#include "quarry/scoreboard/refusal_tally.h"
#include "quarry/scoreboard/shared_memory.h"
#include "quarry/scoreboard/snapshot.h"
#include "quarry/scoreboard/state.h"

namespace quarry::scoreboard {

/// Figures from a PoolSnapshot, under the same names.
struct PoolOverview {
  static constexpr std::size_t kMaxStages = 512;

  FixedText<64> pool{};
  std::int64_t monotonic_now = 0;  // in microseconds; 0: not published yet
  PoolState state;
  std::uint64_t active = 0;
  std::uint64_t children = 0;  // number of children of all generations
  std::array<std::uint64_t, kStages> in_stage{};
  Counters totals;
  std::array<RepositoryCount, kMaxBusiest> busiest{};  // requests 0: unused
  std::uint64_t has_length = 0;  // 0: the length of the listen queue is unknown
  base::QueueLength length;
  /// One digit per child: the value of the child's Stage. Limited to kMaxStages children.
  FixedText<kMaxStages + 8> stages{};
  std::array<Refusal, kMaxRecentRefusals> refusals{};  // newest first; time 0: unused

  std::optional<base::QueueLength> queue() const {
    return has_length != 0 ? std::optional(length) : std::nullopt;
  }
};
static_assert(std::is_trivially_copyable_v<PoolOverview>);
static_assert(sizeof(PoolOverview) % sizeof(std::uint64_t) == 0);

/// Figures of a service that runs jobs (master/job/jobs.h).
struct JobFigures {
  std::uint64_t asked = 0;    // requests for known numbers
  std::uint64_t unknown = 0;  // requests for unknown numbers
  std::uint64_t started = 0;
  std::uint64_t failed = 0;     // killed by a signal, or exit code other than 0
  std::uint64_t delayed = 0;    // jobs that had to wait for other jobs
  std::uint64_t held_back = 0;  // delayed jobs that waited because of the limit for all services
  std::uint64_t dropped = 0;    // requests that were dropped because the queue was full
  // The current numbers of jobs:
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  std::uint64_t paused = 0;
};

struct JobOverview {
  FixedText<128> service{};  // name of the service; "": not published yet
  JobFigures figures;
};
static_assert(std::is_trivially_copyable_v<JobOverview>);
static_assert(sizeof(JobOverview) % sizeof(std::uint64_t) == 0);

/// A peer, as its last sync has reported it.
struct PeerOverview {
  FixedText<128> name{};  // "": not reported yet
  FixedText<128> pool{};
  std::uint64_t received = 0;   // artifacts
  std::uint64_t sent = 0;       // artifacts
  std::uint64_t failures = 0;   // consecutive failures
  std::uint64_t succeeded = 0;  // end of the last successful sync, in seconds since 1970; 0: never
};
static_assert(std::is_trivially_copyable_v<PeerOverview>);
static_assert(sizeof(PeerOverview) % sizeof(std::uint64_t) == 0);

/// Returns the overview of SNAPSHOT with REFUSALS, sorted newest first.
PoolOverview overview_of(const PoolSnapshot& snapshot, std::span<const Refusal> refusals);

class Overview {
 public:
  /// The version of the memory layout. Increased with each change.
  static constexpr std::uint64_t kLayout = 2;

  struct Sizes {
    std::size_t pools = 1;
    std::size_t jobs = 0;  // services that run jobs
    std::size_t peers = 0;
  };

  /// Creates an overview. EARLIER is the fd() of the overview before a reload. If EARLIER has the
  /// right size, the new overview uses the same memory, so readers of the earlier overview also see
  /// new figures. Errors: kIo.
  static Result<std::shared_ptr<Overview>> create(const Sizes& sizes, base::Fd earlier = {});
  ~Overview();
  Overview(const Overview&) = delete;
  Overview& operator=(const Overview&) = delete;

  int fd() const { return fd_.get(); }
  const Sizes& sizes() const { return sizes_; }
  /// Updates the pool INDEX. Does nothing in a child of the process that created this object.
  void publish(std::size_t index, const PoolSnapshot& snapshot, std::span<const Refusal> refusals);
  /// Updates the service INDEX, whose name is SERVICE, in the same way. If SERVICE is "", readers
  /// skip it.
  void publish_jobs(std::size_t index, std::string_view service, const JobFigures& figures);
  /// Updates the peer INDEX in the same way. Readers skip a peer without a name.
  void publish_peer(std::size_t index, const PeerOverview& peer);
  /// Returns all pools that have been published.
  std::vector<PoolOverview> read() const;
  /// Returns all services that have been published.
  std::vector<JobOverview> read_jobs() const;
  /// Returns all peers. The name of a peer is "" before its first report.
  std::vector<PeerOverview> read_peers() const;

 private:
  Overview(const Sizes& sizes, base::Fd fd, Mapping written, Mapping read);

  Sizes sizes_;
  int creator_;  // process id
  base::Fd fd_;
  /// Arrays of SharedState<PoolOverview>, SharedState<JobOverview> and SharedState<PeerOverview>.
  /// Not mapped in children.
  Mapping written_;
  Mapping read_;  // the same arrays, read-only
};

}  // namespace quarry::scoreboard
