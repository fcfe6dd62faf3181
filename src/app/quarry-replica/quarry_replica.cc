// quarry-replica publishes the changes of this host's repositories, and applies those of other hosts.
// The program reads [replication], inherits or opens its socket, and runs the replica.
#include <exception>
#include <string>
#include <utility>

#include "command_line.h"
#include "open_stream.h"
#include "quarry/base/log.h"
#include "quarry/base/service_manager.h"
#include "quarry/base/socket.h"
#include "quarry/replica/replica.h"
#include "replica_configuration.h"

namespace {

namespace app = quarry::app;
namespace base = quarry::base;
namespace replica = quarry::replica;

constexpr int kFailed = 1;

/// Returns the socket inherited from the master or systemd, or otherwise opens a new socket.
quarry::Result<base::Fd> listener_of(const app::ReplicaConfig& config) {
  for (base::Fd& fd : base::activated_sockets()) {
    const auto address = base::local_address(fd);
    if (address && address->is_unix()) return std::move(fd);
  }
  QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse(config.socket));
  return base::listen_on(address, {.mode = 0600});
}

void reopen_log() {
  const auto reopened = base::reopen_log();
  if (!reopened) base::log(base::LogLevel::kError, "{}", reopened.error().message);
}

quarry::Result<void> run(const app::ReplicaConfig& config) {
  QUARRY_TRY_ASSIGN(auto listener, listener_of(config));
  QUARRY_TRY_ASSIGN(const auto stream, app::open_stream(config.options.stream));
  return replica::run(config.options, *stream, std::move(listener), reopen_log);
}

int run_command_line(int argc, char** argv) {
  const auto line = app::parse_replica_command_line(argc, argv);
  if (!line) return line.error();
  base::set_log_prefix("replica");
  const app::ReplicaReading reading = app::read_replica_config(line->config);
  for (const std::string& mistake : reading.mistakes) {
    base::log(base::LogLevel::kAlert, "{}", mistake);
  }
  if (!reading.mistakes.empty()) return kFailed;
  const auto done = run(reading.config);
  if (!done) base::log(base::LogLevel::kAlert, "cannot start: {}", done.error().message);
  return done ? 0 : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  replica::hold_signals();
  try {
    return run_command_line(argc, argv);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::kAlert, "{}", error.what());
    return kFailed;
  }
}
