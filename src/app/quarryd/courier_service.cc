#include "courier_service.h"

#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "configuration.h"
#include "courier_configuration.h"
#include "pool_services.h"
#include "quarry/master/listener.h"

namespace quarry::app {
namespace {

/// Returns the user of the courier: the configured user, or otherwise the user of the first pool.
/// nullopt means the master's user.
Result<std::optional<master::Credentials>> user_of(const courier::CourierOptions& options,
                                                   const master::Config& config) {
  if (options.user.empty()) return config.pools.front().run_as;
  QUARRY_TRY_ASSIGN(auto named, master::credentials_named(options.user, options.group));
  return std::optional(std::move(named));
}

/// Gives access to the socket to the users of all pools that hand over events. The owner of the
/// socket already has access.
void let_pools_connect(const master::Config& config, base::ListenOptions& listen) {
  std::vector<uid_t>& users = listen.access.users;
  for (const master::PoolConfig& pool : config.pools) {
    if (!pool.run_as || !hands_over_events(config, pool)) continue;
    const uid_t user = pool.run_as->uid;
    const bool is_other = user != listen.owner && user != 0;
    if (is_other && std::ranges::find(users, user) == users.end()) users.push_back(user);
  }
  if (users.empty()) return;
  // A socket with an access control list belongs to the master, so the configured owner and group
  // have to be in the list.
  users.push_back(listen.owner);
  if ((listen.mode & S_IRWXG) != 0) listen.access.groups.push_back(listen.group);
}

Result<base::ListenOptions> listen_options(const courier::CourierOptions& options,
                                           const std::optional<master::Credentials>& user,
                                           const master::Config& config) {
  base::ListenOptions listen{.mode = options.listen_mode};
  if (user) {
    listen.owner = user->uid;
    listen.group = user->gid;
  }
  if (!options.listen_owner.empty()) {
    QUARRY_TRY_ASSIGN(const auto owner, master::credentials_named(options.listen_owner, ""));
    listen.owner = owner.uid;
  }
  if (!options.listen_group.empty()) {
    QUARRY_TRY_ASSIGN(listen.group, master::group_named(options.listen_group));
  }
  let_pools_connect(config, listen);
  return listen;
}

}  // namespace

std::filesystem::path program_beside(const std::string& name, const std::filesystem::path& folder) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto here = self.parent_path() / name;
  return !error && std::filesystem::exists(here, error) ? here : folder / name;
}

bool hands_over_events(const master::Config& config, const master::PoolConfig& pool) {
  if (!pool.process.chroot.empty()) return false;
  const worker::WorkerOptions options = worker_options_in(pool);
  return options.background.is_enabled || options.changes.is_enabled ||
         !peers_of(config, pool).empty();
}

Result<std::optional<CourierSocket>> courier_socket(const master::Config& config) {
  const auto courier = courier_config_in(config);
  if (!courier) return std::optional<CourierSocket>();
  const courier::CourierOptions& options = courier->options;
  QUARRY_TRY_ASSIGN(auto runs_as, user_of(options, config));
  QUARRY_TRY_ASSIGN(auto address, base::SocketAddress::parse(options.socket));
  QUARRY_TRY_ASSIGN(const auto listen, listen_options(options, runs_as, config));
  const auto section = std::ranges::find(config.carried, "courier", &master::CarriedSection::name);
  return CourierSocket{std::move(address), listen, std::move(runs_as), section->place};
}

master::ProcessSettings courier_process(const courier::CourierConfig& config) {
  master::ProcessSettings settings;
  // Keep the environment, because the courier's configuration can refer to its variables. The
  // courier runs the programs of destinations with a small environment.
  settings.clear_env = false;
  // Pass the courier's output on unchanged, because it already has the format of the log.
  settings.catch_output = true;
  settings.decorate_output = false;
  // no_new_privs disables setgid programs. Do not set it if a destination uses sendmail, because
  // sendmail can be or start a setgid program, such as Postfix's postdrop.
  settings.no_new_privs = std::ranges::all_of(config.destinations, &std::string::empty,
                                              &courier::DestinationOptions::sendmail);
  return settings;
}

Result<std::optional<master::Service>> courier_service(
    const master::Config& config, const std::filesystem::path& path,
    std::vector<master::InheritedSocket>& inherited) {
  QUARRY_TRY_ASSIGN(const auto socket, courier_socket(config));
  if (!socket) return std::optional<master::Service>();
  master::Service service;
  service.name = "courier";
  service.kind = master::ServiceKind::kReceiver;
  service.starts_alone = true;
  service.processes.max_children = 1;
  service.process = courier_process(*courier_config_in(config));
  service.run_as = socket->runs_as;
  QUARRY_TRY_ASSIGN(service.listener,
                    master::Listener::open(socket->address, socket->options, &inherited));
  service.program = master::Program{program_beside("quarry-courier", QUARRY_SERVER_FOLDER),
                                    {"quarry-courier", "--config", path.string()}};
  return std::optional(std::move(service));
}

}  // namespace quarry::app
