#include "quarry/base/service_manager.h"

#include <systemd/sd-daemon.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace quarry::base {

void notify_service_manager(std::string_view state) {
  // Errors are ignored, because the server can run without the service manager.
  ::sd_notify(0, std::string(state).c_str());
}

bool has_service_manager() {
  return std::getenv("NOTIFY_SOCKET") != nullptr;
}

std::optional<std::chrono::microseconds> watchdog_interval() {
  std::uint64_t micros = 0;
  if (::sd_watchdog_enabled(0, &micros) <= 0) return std::nullopt;
  return std::chrono::microseconds(micros);
}

std::vector<Fd> activated_sockets() {
  std::vector<Fd> sockets;
  const int count = ::sd_listen_fds(1);
  for (int i = 0; i < count; ++i) sockets.emplace_back(SD_LISTEN_FDS_START + i);
  return sockets;
}

}  // namespace quarry::base
