// Counts the requests that a process in front of a pool's workers refuses itself, for the pool's
// status page. These processes are the HTTP front (limits, malformed requests, a pool that does not
// answer) and the page server.
//
//   front, pages ── notes ──> tally ── reads ──> master, workers
//
// Such a process may refuse thousands of requests per second, which would evict the workers' own
// refusals (scoreboard.h). Here each reason has one entry with a counter, so that a flood of one
// reason does not evict the others. Noting a refusal takes no lock and makes no system call except
// the one that reads the time. Only the noting process can write to the memory; readers validate
// what they read.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/scoreboard/shared_memory.h"
#include "quarry/scoreboard/state.h"

namespace quarry::scoreboard {

class RefusalTally {
 public:
  /// Maximum number of reasons. There are fewer distinct reasons than this.
  static constexpr std::size_t kMaxReasons = 32;

  /// Errors: kIo.
  static base::Result<std::shared_ptr<RefusalTally>> create(Refuser by);

  /// Returns the descriptor of the memory, for the child that notes refusals.
  int fd() const { return fd_.get(); }
  /// Makes this process, which holds fd(), the one that notes refusals. It replaces a process that
  /// has ended. Errors: kIo.
  base::Result<void> begin();
  /// Counts REFUSAL, which has just happened. Its reason is its status and its text without
  /// numbers. Does nothing unless begin() has been called.
  void note(Refusal refusal);
  /// Returns the latest refusal for each reason, newest first.
  std::vector<Refusal> read() const;

 private:
  RefusalTally(Refuser by, base::Fd fd, Mapping read)
      : by_(by), fd_(std::move(fd)), read_(std::move(read)) {}
  Refusal sound_at(std::size_t place) const;

  Refuser by_;
  base::Fd fd_;
  Mapping read_;
  Mapping written_;                         // in the noting process
  std::array<Refusal, kMaxReasons> noted_;  // the noting process's own copy
};

using RefusalTallies = std::vector<std::shared_ptr<const RefusalTally>>;

/// Merges OWN, the refusals of a pool's workers (newest first), with those of TALLIES and returns
/// the latest, newest first. Each source has its own quota, and there are at most
/// kMaxRecentRefusals in all.
inline constexpr std::size_t kMaxRecentOfWorkers = 8;
inline constexpr std::size_t kMaxRecentOfTally = 3;
inline constexpr std::size_t kMaxRecentRefusals = kMaxRecentOfWorkers + 2 * kMaxRecentOfTally;
std::vector<Refusal> recent_refusals(std::span<const Refusal> own, const RefusalTallies& tallies);

}  // namespace quarry::scoreboard
