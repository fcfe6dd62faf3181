// Decides which process does a repository's background work, and when. The lease is the row
// `backoffice` of the repository's `config`, which `fossil` respects, too.
//
//   CURRENT UNTIL NEXT UNTIL      four integers: process ids (0: none) and seconds since 1970
//
//   no current holder, or it has ended and its time is over    run, for a minute
//   there is a current holder                                  be next, and sleep until then
//   there is a next holder already                             leave
//
// So there is one run at a time and one per minute, and each request is followed by a run: the one
// that it starts, or the next one, which has not begun yet.
//
// A holder that finishes early keeps its lease: the minute between runs is counted from the start
// of one to the start of the other.
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
  kElsewhere  // on another host, or unknown: counts as alive until the lease expires
};

struct Lease {
  std::int64_t current = 0;
  std::int64_t current_until = 0;
  std::int64_t next = 0;
  std::int64_t next_until = 0;

  /// Parses the value of the row. Missing or invalid numbers are 0, as in fossil.
  static Lease parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const Lease&, const Lease&) = default;
};

/// A process that wants to run, and what it knows. Times are in seconds since 1970.
struct Candidate {
  std::int64_t self = 0;  // its process id
  std::int64_t now = 0;
  Holder current = Holder::kGone;
  Holder next = Holder::kGone;
  std::chrono::seconds lease_time{60};  // at least 1
  bool may_wait = true;                 // false: run immediately or not at all
};

enum class Turn {
  kRun,   // do the work
  kWait,  // wait as the next holder: sleep, then ask again
  kLeave  // another process does the work
};

struct Decision {
  Turn turn = Turn::kLeave;
  /// The new value of the row, to be written in the transaction that read it. Nothing: unchanged.
  std::optional<Lease> lease;
  std::chrono::seconds sleep{0};  // for kWait
};

/// What CANDIDATE should do, given LEASE.
Decision decide(const Lease& lease, const Candidate& candidate);

}  // namespace quarry::backoffice
