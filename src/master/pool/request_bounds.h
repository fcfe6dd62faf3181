// How long a request may take: who is over request_slowlog_timeout is told of in the slow log, who
// is over request_terminate_timeout is ended. The scoreboard shows it, which is looked at again and
// again.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "children.h"
#include "slow_log.h"

namespace quarry::master {

class RequestBounds {
 public:
  /// Who is looked at.
  struct Checked {
    pid_t pid;
    std::size_t slot;
    std::int64_t& told;  // start of the request that the slow log has already
  };

  /// The shortest bound that SERVICE has; 0: none.
  static std::chrono::milliseconds smallest_of(const Service& service);
  /// How often to look, where SMALLEST is the shortest bound of all; 0: never.
  static std::chrono::milliseconds heartbeat(std::chrono::milliseconds smallest);

  /// All children of a service.
  void check(Children& children);
  /// An elder, which stands on its service's board.
  void check(Children& children, const Checked& child);
  /// To be called after a look at all.
  void write_slow_log() { slow_log_.flush(); }
  /// Whether PID, which ended with STATUS, was the slow log's writer.
  bool bury(pid_t pid, int status) { return slow_log_.bury(pid, status); }

 private:
  void check(Children& children, const Checked& child, std::int64_t now);
  void tell_if_slow(Children& children, const Checked& child, const scoreboard::SlotState& state,
                    std::int64_t now);
  static void end_if_overdue(const Service& service, pid_t pid, const scoreboard::SlotState& state,
                             std::int64_t now);

  SlowLog slow_log_;
};

}  // namespace quarry::master
