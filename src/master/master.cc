#include "quarry/master/master.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "loop.h"
#include "quarry/base/log.h"

namespace quarry::master {

Master::Master(GlobalConfig global, std::vector<Service> services)
    : loop_(std::make_unique<Loop>(std::move(global), std::move(services))) {}

Master::~Master() = default;

base::Result<void> Master::run() {
  return loop_->run();
}

base::Result<base::Fd> open_log(const std::string& path) {
  if (path.empty()) {
    // Another descriptor of the same: that of standard error is not the log's in the children.
    base::Fd fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!fd) return base::fail_errno("cannot log to standard error");
    base::set_log_descriptor(fd.get());
    return fd;
  }
  base::Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (!fd) return base::fail_errno(fmt::format("cannot open the log {}", path));
  base::set_log_descriptor(fd.get());
  return fd;
}

}  // namespace quarry::master
