// Applies the timeouts of requests. A request that takes longer than request_slowlog_timeout is
// logged in the slow log. After request_terminate_timeout, the worker of the request is killed. The
// master checks the scoreboard at every heartbeat.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "children.h"

namespace quarry::master {

/// Returns the shortest timeout of SERVICE, or 0 if SERVICE does not have a timeout.
std::chrono::milliseconds smallest_request_bound(const Service& service);
/// Returns the interval between checks; 0: no checks. SMALLEST is the shortest timeout of all
/// services.
std::chrono::milliseconds request_heartbeat(std::chrono::milliseconds smallest);

struct CheckedChild {
  pid_t pid;
  std::size_t slot;
  std::int64_t& logged;  // start of the last request that was logged in the slow log
};

/// Checks all children of a service.
void check_request_bounds(Children& children);
/// Checks CHILD, a child of an earlier generation that has a slot on the board of CHILDREN.
void check_request_bounds(Children& children, const CheckedChild& child);

}  // namespace quarry::master
