// The slow log: one line for each request that takes longer than request_slowlog_timeout, with its
// state on the scoreboard.
//
//   [2026-03-04T05:06:07.123456Z] [pool www] pid=1234 seconds=5.023 request="POST /team/xfer"
//   repository="team/project" user="writer" operation="push" received=5120/5120
//   doing="reading cards: 1200 file, 30 igot" sql="INSERT …" sql_age=0.002
//
// In the log, an entry is a single line. The fields sql and sql_age are present only for a
// long-running statement.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "quarry/scoreboard/state.h"

namespace quarry::master {

struct SlowRequest {
  std::string service;  // such as "pool www"
  pid_t pid = 0;
  double seconds = 0;
  std::int64_t micros_since_sql = 0;  // time since state.sql was last seen running
  scoreboard::SlotState state;
};

/// Returns the line for REQUEST without the current time. Text from children and clients is
/// escaped.
std::string slow_log_line(const SlowRequest& request);

/// Appends the line for REQUEST to the file PATH. The file is opened each time, so log rotation
/// works without a signal. Failures are logged.
void write_slow_log(const std::string& path, const SlowRequest& request);

}  // namespace quarry::master
