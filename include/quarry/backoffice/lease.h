// Who may do a repository's background work, and when: the row `backoffice` of a repository's
// `config`, which `fossil` respects, too.
//
//   CURRENT UNTIL NEXT UNTIL      four integers: process ids (0: none) and seconds since 1970
//
//   no current one, or its time is over and it has ended     run, for a minute
//   another one is current                                    be the next one, and sleep until then
//   there is a next one already                               leave
//
// So there is one run at a time, there is one a minute, and each request is followed by one: either
// by the run that it starts, or by that of the next one, which is still to begin.
//
// A current one that is done long before its time is over keeps its lease: the minute between runs
// is counted from the beginning of one to that of the other.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::backoffice {

/// What is known of the process that has a lease.
enum class Holder {
  kGone,      // it has ended
  kAlive,     // it is there
  kElsewhere  // it is not of this host, or that is not known: it counts while its time lasts
};

struct Lease {
  std::int64_t current = 0;
  std::int64_t current_until = 0;
  std::int64_t next = 0;
  std::int64_t next_until = 0;

  /// The value of the row; what is missing, and what is no number, is 0, as it is for fossil.
  static Lease parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const Lease&, const Lease&) = default;
};

/// A process that would do the work, and what it sees. Times are in seconds since 1970.
struct Candidate {
  std::int64_t self = 0;  // its process id
  std::int64_t now = 0;
  Holder current = Holder::kGone;
  Holder next = Holder::kGone;
  std::chrono::seconds lease_time{60};  // at least 1
  bool may_wait = true;                 // false: run at once or not at all
};

enum class Turn {
  kRun,   // do the work
  kWait,  // it is the next one: sleep, and ask again
  kLeave  // others see to it
};

struct Decision {
  Turn turn = Turn::kLeave;
  /// What the row is to be from now on, written in the transaction that it was read in. Nothing: it
  /// stays as it is.
  std::optional<Lease> lease;
  std::chrono::seconds sleep{0};  // of kWait
};

/// What CANDIDATE does, where the row is LEASE.
Decision decide(const Lease& lease, const Candidate& candidate);

/// Whether another process would have something to do, and is to be started: decide() would not let
/// it leave.
bool is_wanted(const Lease& lease, const Candidate& candidate);

}  // namespace quarry::backoffice
