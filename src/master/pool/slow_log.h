// The slow log: one line for each request that takes longer than request_slowlog_timeout, with what
// the scoreboard shows of it.
//
//   [2026-03-04T05:06:07.123456Z] [pool www] pid=1234 seconds=5.023 request="POST /team/xfer"
//   repository="team/project" user="writer" operation="push" received=5120/5120
//   doing="reading cards: 1200 file, 30 igot" sql="INSERT …" sql_age=0.002
//
// (on one line; sql and sql_age only if a statement ran for long).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "quarry/scoreboard/state.h"

namespace quarry::master {

/// A request that takes long, as the scoreboard showed it.
struct SlowRequest {
  std::string service;  // "pool www"
  pid_t pid = 0;
  double seconds = 0;
  std::int64_t micros_since_sql = 0;  // since state.sql was seen running
  scoreboard::SlotState state;
};

/// The line of REQUEST, without its time. What a child or client wrote is made printable.
std::string slow_log_line(const SlowRequest& request);

/// Appends the line to the file PATH, which is opened each time: whoever rotates it need not send a
/// signal. A failure is logged.
void write_slow_log(const std::string& path, const SlowRequest& request);

}  // namespace quarry::master
