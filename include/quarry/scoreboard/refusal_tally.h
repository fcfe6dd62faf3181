// Counts refused requests that never reach a worker, for the pool's status page. The HTTP front
// refuses requests because of limits, malformed requests, or a pool that does not answer. The page
// server also refuses requests.
//
//   front, pages ── notes ──> tally ── reads ──> master, workers
//
// These processes can refuse thousands of requests per second. In the ring buffer of the board
// (scoreboard.h), such a flood would evict the workers' own refusals. In the tally, each reason has
// one entry with a counter, so a flood of one reason does not evict other reasons. To be fast
// during a flood, note() does not take a lock, and its only system call reads the time. Only the
// process that calls note() can write to the memory. The readers do not trust this process, and
// validate the values.
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
  /// Number of entries. The code uses fewer reasons.
  static constexpr std::size_t kMaxReasons = 32;

  /// Creates a tally for the process BY. Errors: kIo.
  static Result<std::shared_ptr<RefusalTally>> create(Refuser by);

  /// Returns the descriptor of the memory. The child that notes refusals needs this descriptor.
  int fd() const { return fd_.get(); }
  /// Makes this process the one that calls note(). It must have inherited the descriptor fd(). The
  /// process that called note() before must have ended. Errors: kIo.
  Result<void> begin();
  /// Counts REFUSAL, with the current time. Two refusals have the same reason if their status and
  /// their text without numbers are equal. Does nothing unless begin() was called.
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

/// Maximum numbers of refusals that recent_refusals() returns: those of a pool's workers, those in
/// one tally, and all together.
inline constexpr std::size_t kMaxRecentOfWorkers = 8;
inline constexpr std::size_t kMaxRecentOfTally = 3;
inline constexpr std::size_t kMaxRecentRefusals = kMaxRecentOfWorkers + 2 * kMaxRecentOfTally;
/// Merges OWN, the refusals of a pool's workers (newest first), with the refusals in TALLIES. Takes
/// only the latest refusals of the workers (kMaxRecentOfWorkers) and of each tally
/// (kMaxRecentOfTally). The result is sorted newest first.
std::vector<Refusal> recent_refusals(std::span<const Refusal> own, const RefusalTallies& tallies);

}  // namespace quarry::scoreboard
