#include "courier_service.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "courier_configuration.h"
#include "quarry/master/listener.h"

namespace quarry::app {
namespace {

/// Returns the user of the courier: the configured user, or otherwise the user of the first pool,
/// which sends events. nullopt means the master's user.
base::Result<std::optional<master::Credentials>> user_of(const courier::CourierOptions& options,
                                                         const master::Config& config) {
  if (options.user.empty()) return config.pools.front().run_as;
  QUARRY_TRY_ASSIGN(auto named, master::credentials_named(options.user, options.group));
  return std::optional(std::move(named));
}

base::Result<base::ListenOptions> listen_options(const courier::CourierOptions& options,
                                                 const std::optional<master::Credentials>& user) {
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
  return listen;
}

}  // namespace

std::filesystem::path program_beside(const std::string& name, const std::filesystem::path& folder) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto here = self.parent_path() / name;
  return !error && std::filesystem::exists(here, error) ? here : folder / name;
}

base::Result<std::optional<CourierSocket>> courier_socket(const master::Config& config) {
  const auto courier = courier_config_in(config);
  if (!courier) return std::optional<CourierSocket>();
  const courier::CourierOptions& options = courier->options;
  QUARRY_TRY_ASSIGN(auto runs_as, user_of(options, config));
  QUARRY_TRY_ASSIGN(auto address, base::SocketAddress::parse(options.socket));
  QUARRY_TRY_ASSIGN(const auto listen, listen_options(options, runs_as));
  const auto section = std::ranges::find(config.carried, "courier", &master::CarriedSection::name);
  return CourierSocket{std::move(address), listen, std::move(runs_as), section->place};
}

base::Result<std::optional<master::Service>> courier_service(
    const master::Config& config, const std::filesystem::path& path,
    std::vector<master::InheritedSocket>& inherited) {
  QUARRY_TRY_ASSIGN(const auto socket, courier_socket(config));
  if (!socket) return std::optional<master::Service>();
  master::Service service;
  service.name = "courier";
  service.kind = master::ServiceKind::kReceiver;
  service.starts_alone = true;
  service.processes.max_children = 1;
  // The courier writes its output in the format of the log.
  service.process.catch_output = true;
  service.process.decorate_output = false;
  // sendmail can be setgid, like Postfix's postdrop. no_new_privs disables setgid.
  service.process.no_new_privs =
      std::ranges::all_of(courier_config_in(config)->destinations, &std::string::empty,
                          &courier::DestinationOptions::sendmail);
  service.run_as = socket->runs_as;
  QUARRY_TRY_ASSIGN(service.listener,
                    master::Listener::open(socket->address, socket->options, &inherited));
  service.program = master::Program{program_beside("quarry-courier", QUARRY_SERVER_FOLDER),
                                    {"quarry-courier", "--config", path.string()}};
  return std::optional(std::move(service));
}

}  // namespace quarry::app
