// Identifies the processes that hold a lease. The process ids in fossil's row `backoffice` do not
// identify a process on another host or in another container, and ids can be reused. Therefore the
// row `quarry-lease` in a repository's `config` stores more about each process:
//
//   HOST PID STARTED PID STARTED      HOST: the machine's boot id and pid namespace; STARTED: start
//                                     time in clock ticks since boot, see proc(5)
//
// If HOST is this host, the listed processes are checked. If HOST is another host, the processes
// count as alive until their lease expires. If fossil wrote the lease, fossil's process is not
// listed. An unlisted process counts as alive if this host has a process with the same id;
// otherwise its state is unknown.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/backoffice/lease.h"

namespace quarry::backoffice {

/// The processes that are visible to this process. Tests replace this class.
class ProcessTable {
 public:
  virtual ~ProcessTable() = default;
  /// Returns a text that identifies this host and pid namespace and contains no space.
  virtual std::string host() const = 0;
  /// Returns the start time of process PID, or nullopt if the process does not exist.
  virtual std::optional<std::int64_t> started(std::int64_t pid) const = 0;
};
const ProcessTable& real_processes();

class Holders {
 public:
  /// Parses the row's value. If the value is invalid, the result is empty.
  static Holders parse(std::string_view text);
  std::string text() const;

  /// Returns the state of PID, one of the process ids in the lease.
  Holder state_of(std::int64_t pid, const ProcessTable& processes) const;
  /// Returns the value of the row `quarry-lease` for LEASE, in which the process SELF is one of the
  /// two holders. Copies the start time of the other holder from this object, if it is known.
  Holders with(const Lease& lease, std::int64_t self, const ProcessTable& processes) const;

  friend bool operator==(const Holders&, const Holders&) = default;

 private:
  struct Process {
    std::int64_t pid = 0;  // 0: no process
    std::int64_t started = 0;
    friend bool operator==(const Process&, const Process&) = default;
  };
  const Process* find(std::int64_t pid) const;

  std::string host_;
  std::array<Process, 2> processes_{};
};

}  // namespace quarry::backoffice
