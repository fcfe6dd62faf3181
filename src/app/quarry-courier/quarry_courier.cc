// quarry-courier delivers events, or runs the hooks of a pool. The program reads its part of the
// configuration, inherits or opens its socket, and runs the courier.
#include <unistd.h>

#include <algorithm>
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
#include "quarry/courier/log_courier.h"
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

/// Becomes the user in OPTIONS if this process runs as root.
quarry::Result<void> become_user(const courier::CourierOptions& options) {
  if (::geteuid() != 0 || options.user.empty()) return {};
  QUARRY_TRY_ASSIGN(const auto user, master::credentials_named(options.user, options.group));
  return master::become(user);
}

void reopen_log() {
  const auto reopened = base::reopen_log();
  if (!reopened) base::log(base::LogLevel::kError, "{}", reopened.error().message);
}

quarry::Result<void> run(const courier::CourierConfig& config) {
  const courier::CourierOptions& options = config.options;
  QUARRY_TRY(base::open_log(options.log));
  QUARRY_TRY_ASSIGN(auto listener, listener_of(options));
  QUARRY_TRY(become_user(options));
  return courier::run(config, std::move(listener), reopen_log);
}

quarry::Result<void> deliver_logs(const courier::CourierConfig& config,
                                  const app::CourierCommandLine& line) {
  QUARRY_TRY(base::open_log(config.options.log));
  QUARRY_TRY(become_user(config.options));
  const auto destination = std::ranges::find(config.log_destinations, line.destination,
                                             &courier::DestinationOptions::name);
  if (destination == config.log_destinations.end()) {
    return quarry::fail(quarry::ErrorCode::kInvalid, "no [destination {}] with logs = yes",
                        line.destination);
  }
  courier::LogCourierOptions options{.destination = *destination,
                                     .spool_directory = config.options.spool_directory,
                                     .logs = {},
                                     .figures = line.figures};
  for (const std::string& each : line.logs) {
    const std::size_t end = std::min(each.find('='), each.size() - 1);
    options.logs.push_back({each.substr(0, end), each.substr(end + 1)});
  }
  return courier::run_log_courier(options, reopen_log);
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
  base::set_log_prefix(line->destination.empty() ? "courier" : "logs " + line->destination);
  app::CourierReading reading = app::read_courier_config(line->config);
  for (const std::string& mistake : reading.mistakes) {
    base::log(base::LogLevel::kAlert, "{}", mistake);
  }
  if (!reading.mistakes.empty()) return kFailed;
  reading.config.options.log.ident = "quarry-courier";
  const auto done =
      line->destination.empty() ? run(reading.config) : deliver_logs(reading.config, *line);
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
