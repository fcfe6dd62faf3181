// How long a request may take: one that takes longer than request_slowlog_timeout gets a line in the
// slow log, and the worker of one that takes longer than request_terminate_timeout is killed. The
// master looks at the scoreboard for them at every heartbeat.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "children.h"

namespace quarry::master {

/// The shortest bound that SERVICE has; 0: none.
std::chrono::milliseconds smallest_request_bound(const Service& service);
/// How often to look, where SMALLEST is the shortest bound of all; 0: never.
std::chrono::milliseconds request_heartbeat(std::chrono::milliseconds smallest);

struct CheckedChild {
  pid_t pid;
  std::size_t slot;
  std::int64_t& logged;  // start of the request that the slow log has already
};

/// All children of a service.
void check_request_bounds(Children& children);
/// An elder, which stands on its service's board.
void check_request_bounds(Children& children, const CheckedChild& child);

}  // namespace quarry::master
