#include "replica_service.h"

#include <algorithm>
#include <utility>

#include "courier_service.h"
#include "quarry/master/listener.h"

namespace quarry::app {

Result<ReplicaSocket> replica_socket(const master::Config& config, const ReplicaConfig& replica) {
  QUARRY_TRY_ASSIGN(auto address, base::SocketAddress::parse(replica.socket));
  base::ListenOptions listen{.mode = 0600};
  if (replica.runs_as) {
    listen.owner = replica.runs_as->uid;
    listen.group = replica.runs_as->gid;
  }
  const auto section =
      std::ranges::find(config.carried, "replication", &master::CarriedSection::name);
  return ReplicaSocket{std::move(address), listen, section->place};
}

master::ProcessSettings replica_process() {
  master::ProcessSettings settings;
  // Keep the environment, because the configuration can refer to its variables.
  settings.clear_env = false;
  // Pass the output on unchanged, because it already has the format of the log.
  settings.catch_output = true;
  settings.decorate_output = false;
  return settings;
}

Result<std::optional<master::Service>> replica_service(
    const master::Config& config, const std::filesystem::path& path,
    std::vector<master::InheritedSocket>& inherited) {
  const auto replica = replica_config_in(config);
  if (!replica) return std::nullopt;
  QUARRY_TRY_ASSIGN(const auto socket, replica_socket(config, *replica));
  master::Service service;
  service.name = "replica";
  service.kind = master::ServiceKind::kReceiver;
  // Two processes at the same time would publish the same changes twice. During a reload, requests
  // wait in the socket.
  service.starts_alone = true;
  service.processes.max_children = 1;
  service.process = replica_process();
  service.run_as = replica->runs_as;
  QUARRY_TRY_ASSIGN(service.listener,
                    master::Listener::open(socket.address, socket.options, &inherited));
  service.program = master::Program{program_beside("quarry-replica", QUARRY_SERVER_FOLDER),
                                    {"quarry-replica", "--config", path.string()}};
  return service;
}

}  // namespace quarry::app
