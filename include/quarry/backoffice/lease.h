// Decides which process does a repository's background work, and when. The lease is the row
// `backoffice` in the repository's `config`. `fossil` uses the same row.
//
//   CURRENT UNTIL NEXT UNTIL      four integers: process ids (0: none) and seconds since 1970
//
//   another process is the next holder                         leave
//   no current holder, or its lease has expired and it is not  run, and hold the lease for a minute
//   known to be alive
//   otherwise                                                  become the next holder, and sleep
//
// So runs do not overlap, and at most one run starts per minute. Every request is followed by a
// run: a run starts immediately, or the next holder runs later.
//
// A holder that finishes early keeps its lease until the minute is over. Otherwise the next run
// could start too early.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::backoffice {

/// The state of a process that holds a lease.
enum class Holder {
  kGone,
  kAlive,
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

/// A process that wants to run, and the state of the current holders. Times are in seconds since
/// 1970.
struct Candidate {
  std::int64_t self = 0;  // process id of the candidate
  std::int64_t now = 0;
  Holder current = Holder::kGone;
  Holder next = Holder::kGone;
  std::chrono::seconds lease_time{60};  // at least 1
  bool may_wait = true;                 // if false, run immediately or not at all
};

enum class Turn {
  kRun,
  kWait,  // become the next holder, sleep, then call decide() again
  kLeave
};

struct Decision {
  Turn turn = Turn::kLeave;
  /// New value of the row, or nullopt to leave the row unchanged. The caller writes the value in
  /// the transaction that has read the row.
  std::optional<Lease> lease;
  std::chrono::seconds sleep{0};  // for kWait
};

Decision decide(const Lease& lease, const Candidate& candidate);

}  // namespace quarry::backoffice
