// Which processes hold a lease, where process ids mean nothing: on another host or in another
// container, and once a number has been given to somebody else. The row `quarry-lease` of a
// repository's `config` stands beside fossil's `backoffice`, which has no room for that:
//
//   HOST PID STARTED PID STARTED      HOST: the boot of a machine and its pid namespace; STARTED: in
//                                     clock ticks since that boot, as proc(5) has it
//
// Who is in it is looked at where HOST is this one, and otherwise counts for as long as his lease
// lasts. Who is not in it, since fossil wrote the lease, is alive where there is a process of that
// number here; otherwise nobody knows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/backoffice/lease.h"

namespace quarry::backoffice {

/// The processes that can be seen from here; a test makes its own.
class ProcessTable {
 public:
  virtual ~ProcessTable() = default;
  /// Without a space.
  virtual std::string host() const = 0;
  /// When the process PID began; nothing if there is none.
  virtual std::optional<std::int64_t> started(std::int64_t pid) const = 0;
};
/// Those of this machine.
const ProcessTable& real_processes();

class Holders {
 public:
  /// Of the row's value; what cannot be read holds nobody.
  static Holders parse(std::string_view text);
  std::string text() const;

  /// What there is to know of the process PID that stands in the lease.
  Holder state_of(std::int64_t pid, const ProcessTable& processes) const;
  /// Those of LEASE, of which SELF has just written itself into it. One that was known before stays.
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
