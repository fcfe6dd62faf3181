// Decides which process does a repository's background work, and when. The lease is the row
// `backoffice` in the repository's `config`; `fossil` also respects it.
//
//   CURRENT UNTIL NEXT UNTIL      four integers: process ids (0: none) and seconds since 1970
//
//   no current holder, or it has ended and its time is over    run, for a minute
//   a current holder, but no next holder                       become the next holder, and sleep
//   a current and a next holder                                leave
//
// So there is at most one run at a time and one per minute, and each request is followed by a run:
// either the one that it starts, or the next one, which has not begun yet.
//
// A holder that finishes early keeps its lease: the minute between two runs is counted from the
// start of the first to the start of the second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::backoffice {

/// The state of a process that holds a lease.
enum class Holder {
  kGone,      // it has ended
  kAlive,     // it is running
  kElsewhere  // on another host, or unknown; counts as alive until the lease expires
};

struct Lease {
  std::int64_t current = 0;
  std::int64_t current_until = 0;
  std::int64_t next = 0;
  std::int64_t next_until = 0;

  /// Parses the row's value. Missing or invalid numbers are 0, as in fossil.
  static Lease parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const Lease&, const Lease&) = default;
};

/// A process that wants to run, and its view of the current holders. Times are in seconds since
/// 1970.
struct Candidate {
  std::int64_t self = 0;  // its process id
  std::int64_t now = 0;
  Holder current = Holder::kGone;
  Holder next = Holder::kGone;
  std::chrono::seconds lease_time{60};  // at least 1
  bool may_wait = true;                 // if false, run immediately or not at all
};

enum class Turn {
  kRun,   // do the work
  kWait,  // wait as the next holder: sleep, then ask again
  kLeave  // another process does the work
};

struct Decision {
  Turn turn = Turn::kLeave;
  /// The new value of the row, to be written in the transaction that has read it; nullopt if
  /// unchanged.
  std::optional<Lease> lease;
  std::chrono::seconds sleep{0};  // for kWait
};

/// Returns what CANDIDATE should do, given LEASE.
Decision decide(const Lease& lease, const Candidate& candidate);

}  // namespace quarry::backoffice
