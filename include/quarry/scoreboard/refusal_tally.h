// What a process before a pool's workers refuses by itself, for the pool's status page: the HTTP front
// (bounds, malformed requests, a pool that does not answer), and the one that has web pages made.
//
//   front, pages ── notes ──> tally ── reads ──> master, workers
//
// Such a process may refuse thousands of requests a second, so that it has no place among the last
// refusals of the workers (scoreboard.h): here each reason has one place, with how often it was, and
// a flood of one leaves the others what they are. To note one takes no lock and no system call but for
// the time. Only the process that notes can write the memory; what it wrote is not to be believed
// unseen.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/scoreboard/state.h"

namespace quarry::scoreboard {

class RefusalTally {
 public:
  /// More than there are reasons for such a process.
  static constexpr std::size_t kMostReasons = 32;

  /// Of the process that BY says. Errors: kIo.
  static base::Result<std::shared_ptr<RefusalTally>> create(Refuser by);
  ~RefusalTally();
  RefusalTally(const RefusalTally&) = delete;
  RefusalTally& operator=(const RefusalTally&) = delete;

  /// Of the memory, for the child that is to note.
  int fd() const { return fd_.get(); }
  /// This process, which has fd(), is the one that notes from now on, instead of one that is gone.
  /// Errors: kIo.
  base::Result<void> begin();
  /// REFUSAL came at this moment. Its reason is its status and its text, but for the numbers in that.
  /// Where this process does not note, nothing happens.
  void note(Refusal refusal);
  /// One of each reason, the last, the newest first.
  std::vector<Refusal> read() const;

 private:
  struct Memory;
  RefusalTally(Refuser by, base::Fd fd, const Memory* read)
      : by_(by), fd_(std::move(fd)), read_(read) {}
  Refusal sound_at(std::size_t place) const;

  Refuser by_;
  base::Fd fd_;
  const Memory* read_;
  Memory* written_ = nullptr;
  std::array<Refusal, kMostReasons> noted_;  // what the one that notes has written
};

using RefusalTallies = std::vector<std::shared_ptr<const RefusalTally>>;

/// What is told of OWN, the refusals of a pool's workers with the newest first, and of TALLIES, in
/// which each has room that the others cannot take, the newest first: kMaxRecentRefusals at most.
inline constexpr std::size_t kMaxRecentOfWorkers = 8;
inline constexpr std::size_t kMaxRecentOfTally = 3;
inline constexpr std::size_t kMaxRecentRefusals = kMaxRecentOfWorkers + 2 * kMaxRecentOfTally;
std::vector<Refusal> recent_refusals(std::span<const Refusal> own, const RefusalTallies& tallies);

}  // namespace quarry::scoreboard
