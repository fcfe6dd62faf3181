// A pool's access log: one line for each request, in the pool's access.format.
//
// The master opens the file, so that it may be in a folder to which the pool's user has no access;
// the workers inherit the descriptor. The file is opened for appending and each line is a single
// write(2), so that lines of different workers never mix.
#pragma once

#include <string>
#include <vector>

#include "quarry/base/access_format.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"
#include "quarry/base/result.h"

namespace quarry::base {

struct AccessLogOptions {
  std::string path;
  AccessFormat format = AccessFormat::usual();
  /// Exact paths of health checks, which are not logged: GET or HEAD requests without query and body
  /// that are answered with 2xx.
  std::vector<std::string> suppress_paths;
};

class AccessLog {
 public:
  /// Creates the file with mode 0640 if it does not exist. Errors: kIo.
  static Result<AccessLog> open(AccessLogOptions options);

  /// Reopens the path, for log rotation. The descriptor keeps its number. Errors: kIo; logging
  /// continues to the old file.
  Result<void> reopen(Reopening reopening);
  void write(const AccessRecord& record);

  const AccessFormat& format() const { return options_.format; }
  int fd() const { return fd_.get(); }

 private:
  bool is_suppressed(const AccessRecord& record) const;

  AccessLogOptions options_;
  Fd fd_;
  std::string line_;  // reused, to avoid an allocation per request
};

}  // namespace quarry::base
