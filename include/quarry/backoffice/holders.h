// Identifies the processes that hold a lease where process ids alone do not: on another host, in
// another container, or after an id has been reused. The row `quarry-lease` of a repository's
// `config` supplements fossil's row `backoffice`, which has no room for this:
//
//   HOST PID STARTED PID STARTED      HOST: the machine's boot id and pid namespace; STARTED: start
//                                     time in clock ticks since boot, see proc(5)
//
// If HOST is this host, the listed processes are checked; otherwise they count as alive until their
// lease expires. A process that is not listed, because fossil wrote the lease, is alive if there is
// a process with that id here; otherwise its state is unknown.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/backoffice/lease.h"

namespace quarry::backoffice {

/// The visible processes; replaced in tests.
class ProcessTable {
 public:
  virtual ~ProcessTable() = default;
  /// Identifies this host and pid namespace; contains no space.
  virtual std::string host() const = 0;
  /// The start time of process PID, or nothing if there is no such process.
  virtual std::optional<std::int64_t> started(std::int64_t pid) const = 0;
};
/// The processes of this machine.
const ProcessTable& real_processes();

class Holders {
 public:
  /// Parses the row's value; an invalid value holds no process.
  static Holders parse(std::string_view text);
  std::string text() const;

  /// The state of process PID, which the lease names.
  Holder state_of(std::int64_t pid, const ProcessTable& processes) const;
  /// The holders of LEASE after SELF has written itself into it. Known entries are kept.
  Holders with(const Lease& lease, std::int64_t self, const ProcessTable& processes) const;

  friend bool operator==(const Holders&, const Holders&) = default;

 private:
  struct Process {
    std::int64_t pid = 0;  // 0: none
    std::int64_t started = 0;
    friend bool operator==(const Process&, const Process&) = default;
  };
  const Process* find(std::int64_t pid) const;

  std::string host_;
  std::array<Process, 2> processes_{};
};

}  // namespace quarry::backoffice
