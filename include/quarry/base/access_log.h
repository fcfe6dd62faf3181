// A pool's access log: one line for each request, in the pool's access.format.
//
// Opened by the master, so that its file may be in a folder where the pool's user has no rights;
// the workers inherit the descriptor. The file is opened for appending and each line is one
// write(2), so that lines of several workers never mix.
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
  /// Exact paths whose requests are not told, if they are as probes of the server's health are: GET
  /// or HEAD, without query and body, answered with 2xx.
  std::vector<std::string> suppress_paths;
};

class AccessLog {
 public:
  /// Makes the file with mode 0640 where there is none. Errors: kIo.
  static Result<AccessLog> open(AccessLogOptions options);

  /// Opens the path anew, so that a file that was moved away is let go. The descriptor keeps its
  /// number. Errors: kIo; the log goes on as it was.
  Result<void> reopen(Reopening reopening);
  void write(const AccessRecord& record);

  const AccessFormat& format() const { return options_.format; }
  int fd() const { return fd_.get(); }

 private:
  bool is_suppressed(const AccessRecord& record) const;

  AccessLogOptions options_;
  Fd fd_;
  std::string line_;  // its memory is kept from one request to the next
};

}  // namespace quarry::base
