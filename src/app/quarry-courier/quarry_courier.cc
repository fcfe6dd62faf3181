// quarry-courier delivers events, or runs the hooks of a pool. The program reads its part of the
// configuration, inherits or opens its socket, and runs the courier.
#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>

#include "command_line.h"
#include "courier_configuration.h"
#include "quarry/base/log.h"
#include "quarry/base/service_manager.h"
#include "quarry/base/socket.h"
#include "quarry/courier/courier.h"
#include "quarry/master/credentials.h"

namespace {

namespace app = quarry::app;
namespace base = quarry::base;
namespace courier = quarry::courier;
namespace master = quarry::master;

constexpr int kFailed = 1;

int failed(const quarry::Error& error) {
  base::log(base::LogLevel::kAlert, "cannot start: {}", error.message);
  return kFailed;
}

/// Returns the socket inherited from the master or systemd, or otherwise opens a new socket.
quarry::Result<base::Fd> listener_of(const courier::CourierOptions& options) {
  for (base::Fd& fd : base::activated_sockets()) {
    const auto address = base::local_address(fd);
    if (address && address->is_unix()) return std::move(fd);
  }
  QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse(options.socket));
  base::ListenOptions listen{.mode = options.listen_mode};
  if (!options.listen_owner.empty()) {
    QUARRY_TRY_ASSIGN(const auto owner, master::credentials_named(options.listen_owner, ""));
    listen.owner = owner.uid;
  }
  if (!options.listen_group.empty()) {
    QUARRY_TRY_ASSIGN(listen.group, master::group_named(options.listen_group));
  }
  return base::listen_on(address, listen);
}

quarry::Result<void> run(const courier::CourierConfig& config) {
  const courier::CourierOptions& options = config.options;
  QUARRY_TRY(base::open_log(options.log));
  QUARRY_TRY_ASSIGN(auto listener, listener_of(options));
  if (::geteuid() == 0 && !options.user.empty()) {
    QUARRY_TRY_ASSIGN(const auto user, master::credentials_named(options.user, options.group));
    QUARRY_TRY(master::become(user));
  }
  return courier::run(config, std::move(listener), [] {
    const auto reopened = base::reopen_log();
    if (!reopened) base::log(base::LogLevel::kError, "{}", reopened.error().message);
  });
}

/// Returns the configuration of a process that runs the hooks of a pool.
courier::CourierConfig hooks_config(const app::CourierCommandLine& line) {
  courier::CourierOptions options;
  options.socket = line.socket;
  options.spool_directory = line.folder;
  options.max_disk_space = line.max_disk_space;
  if (!line.fossil.empty()) options.fossil = line.fossil;
  options.repository_webhooks = line.webhooks;
  options.webhooks_allow = line.webhooks_allow;
  if (line.timeout > 0) options.hook_timeout = std::chrono::milliseconds(line.timeout);
  return courier::hooks_of_pool(std::move(options));
}

int run_command_line(int argc, char** argv) {
  const auto line = app::parse_courier_command_line(argc, argv);
  if (!line) return line.error();
  if (!line->folder.empty()) {
    base::set_log_prefix("hooks " + std::filesystem::path(line->folder).filename().string());
    const auto done = run(hooks_config(*line));
    return done ? 0 : failed(done.error());
  }
  base::set_log_prefix("courier");
  app::CourierReading reading = app::read_courier_config(line->config);
  for (const std::string& mistake : reading.mistakes) {
    base::log(base::LogLevel::kAlert, "{}", mistake);
  }
  if (!reading.mistakes.empty()) return kFailed;
  reading.config.options.log.ident = "quarry-courier";
  const auto done = run(reading.config);
  return done ? 0 : failed(done.error());
}

}  // namespace

int main(int argc, char** argv) {
  ::tzset();
  courier::hold_signals();
  try {
    return run_command_line(argc, argv);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::kAlert, "{}", error.what());
    return kFailed;
  }
}
