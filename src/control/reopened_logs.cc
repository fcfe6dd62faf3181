#include "quarry/control/reopened_logs.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "quarry/base/descriptor_message.h"
#include "quarry/base/log.h"

namespace quarry::control {

bool send_logs(const Channel& child, const base::AccessLog* access_log) {
  constexpr std::array kNothing{std::byte{0}};
  const std::array logs{base::log_descriptor(), access_log == nullptr ? -1 : access_log->fd()};
  const auto sent = std::span(logs).first(access_log == nullptr ? 1 : 2);
  // EPIPE and ECONNRESET mean that the child is exiting, so they are not failures.
  return base::send_descriptors(child.fd(), kNothing, sent, MSG_DONTWAIT) || errno == EPIPE ||
         errno == ECONNRESET;
}

void take_logs(const Channel& master, base::AccessLog* access_log) {
  const auto complain = [](const Result<void>& done) {
    if (!done) base::log(base::LogLevel::kError, "{}", done.error().message);
  };
  for (;;) {
    std::array<std::byte, 1> nothing{};
    std::array logs{-1, -1};
    if (base::receive_descriptors(master.fd(), nothing, logs, MSG_DONTWAIT) == 0) return;
    const base::Fd error(logs[0]);
    const base::Fd access(logs[1]);
    complain(base::replace_log(error));
    if (access && access_log != nullptr) complain(access_log->replace(access));
  }
}

}  // namespace quarry::control
