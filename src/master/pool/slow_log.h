// The slow log: what requests that take longer than request_slowlog_timeout are doing.
//
//   [2026-03-04T05:06:07.123456Z] [pool www] pid 1234
//   request = POST "/team/xfer" (5120 bytes)
//   user = writer
//   repository = team/project
//   operation =
//   seconds = 5.023
//   stage = executing
//   doing = reading cards: 1200 file, 30 igot
//   sql = SELECT … (0.002 s ago)              the last statement that ran for long, if one did
//   [0x000055d1c0de0042] quarry::sync::Intake::file(…) intake.cc:80
//   …                                                          and an empty line
//
// The master notices such a request on the scoreboard. The entry is written by a process that it
// forks for that, one at a time: a backtrace takes time and memory and reads what the child could
// have prepared, and must neither hold up nor endanger the master. What takes too long is ended.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "backtrace.h"
#include "quarry/master/config.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::master {

/// A request that takes long, as the scoreboard showed it.
struct SlowRequest {
  std::string service;  // "pool www"
  pid_t pid = 0;
  double seconds = 0;
  std::int64_t micros_since_sql = 0;  // since state.sql was seen running
  scoreboard::SlotState state;
  SlowLogConfig log;
  std::vector<int> kept_descriptors;  // of the service
};

/// The entry of REQUEST, without its time. What a child or client wrote is made printable.
std::string slow_log_entry(const SlowRequest& request, const base::Result<Backtrace>& backtrace);

class SlowLog {
 public:
  /// Has REQUEST written at the next flush().
  void add(SlowRequest request);
  /// Begins to write what was added, unless a writer is still at work: then a later call does.
  void flush();
  /// Whether PID, which ended with STATUS, was the writer.
  bool bury(pid_t pid, int status);

 private:
  std::vector<SlowRequest> waiting_;
  pid_t writer_ = -1;
};

}  // namespace quarry::master
