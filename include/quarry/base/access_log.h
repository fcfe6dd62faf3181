// A pool's access log: one line per request, in the format set by access.format.
//
// The master opens the file, and the workers inherit the descriptor. So the pool's user does not
// need access to the folder. The file is opened for appending and each line is a single write(2),
// so lines of different workers never mix. If the log is a pipe, terminal or socket and its reader
// does not keep up, lines are lost (log_stream.h). The number of lost lines is logged in the error
// log.
#pragma once

#include <string>
#include <vector>

#include "quarry/base/access_format.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"
#include "quarry/base/log_stream.h"
#include "quarry/base/result.h"

namespace quarry::base {

struct AccessLogOptions {
  std::string path;
  AccessFormat format = AccessFormat::usual();
  /// Exact paths of health checks. A GET or HEAD request for such a path, without a query or body,
  /// is not logged if it succeeds (status 2xx).
  std::vector<std::string> suppress_paths;
};

class AccessLog {
 public:
  /// Opens the file and creates it with mode 0640 if it does not exist. LOST is lost_memory() of an
  /// earlier log, whose number of lost lines continues. Errors: kIo.
  static Result<AccessLog> open(AccessLogOptions options, Fd lost = {});

  /// Reopens the path, for log rotation. The descriptor keeps its number. After an error, logging
  /// continues to the old file. Errors: kIo.
  Result<void> reopen();
  /// From now on, writes to FRESH, the file that another process has reopened. The descriptor keeps
  /// its number. Errors: kIo.
  Result<void> replace(const Fd& fresh);
  void write(const AccessRecord& record);

  const AccessFormat& format() const { return options_.format; }
  int fd() const { return stream_.fd(); }
  /// Returns the number of lines that all processes with this log have lost.
  std::uint64_t lost() const { return lost_.count(); }
  /// Returns the memory file with the number of lost lines.
  int lost_memory() const { return lost_.memory(); }

 private:
  bool is_suppressed(const AccessRecord& record) const;

  AccessLogOptions options_;
  LogStream stream_;
  LostLines lost_;
  std::string line_;  // a member, to avoid an allocation per request
};

}  // namespace quarry::base
