// Delivers the lines of logs to a destination with `logs = yes`.
//
//   master, workers ── FIFO of each log ──> quarry-courier --logs NAME ──> receiver
//                                                   │
//                                    queue in memory, on disk when it gets long
//
// Writers never wait for this process: they lose a line if the FIFO is full (base/log_stream.h).
// The master keeps the FIFOs open, so they keep their lines if this process is restarted. The queue
// is saved when this process ends. A crash loses only the lines in its memory.
//
// This process must not log to a log that it delivers: each problem with a line would produce
// another line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/courier/options.h"

namespace quarry::courier {

/// The name of the error log, and the prefix of the names of access logs (`access.POOL`).
inline constexpr const char* kErrorLog = "error";
inline constexpr const char* kAccessLogPrefix = "access.";

struct ShippedLog {
  std::string name;
  std::string pipe;  // path of the FIFO
};

struct LogCourierOptions {
  DestinationOptions destination;
  std::string spool_directory;
  std::vector<ShippedLog> logs;
  std::string figures;  // path of the file for the figures
};

/// Delivers log lines until a signal stops the process (see run()). REOPEN reopens the process's
/// own log. Errors: kBusy (another process uses the queue), kInvalid, and file system errors.
Result<void> run_log_courier(const LogCourierOptions& options, const std::function<void()>& reopen);

}  // namespace quarry::courier
