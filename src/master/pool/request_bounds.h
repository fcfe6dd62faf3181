// Applies the timeouts of requests. A request that takes longer than request_slowlog_timeout is
// written to the slow log. After request_terminate_timeout, its worker is killed. The master checks
// the scoreboard at every heartbeat.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "children.h"

namespace quarry::master {

/// Returns the shortest timeout of SERVICE, or 0 if it has none.
std::chrono::milliseconds smallest_request_bound(const Service& service);
/// Returns the interval between checks, if SMALLEST is the shortest timeout of all services; 0: no
/// checks.
std::chrono::milliseconds request_heartbeat(std::chrono::milliseconds smallest);

struct CheckedChild {
  pid_t pid;
  std::size_t slot;
  std::int64_t& logged;  // start of the last request in the slow log
};

/// Checks all children of a service.
void check_request_bounds(Children& children);
/// Checks a child of an earlier generation that has a slot on its service's board.
void check_request_bounds(Children& children, const CheckedChild& child);

}  // namespace quarry::master
