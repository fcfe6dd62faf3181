#include "pool_services.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>

#include "changes_directives.h"
#include "courier_service.h"
#include "quarry/backoffice/turn.h"
#include "quarry/base/log.h"
#include "quarry/master/directive_table.h"
#include "quarry/repository/repository_name.h"

namespace quarry::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Words = std::vector<std::string>;

// Numbers in the master's own requests. kAllRepositories starts runs of all repositories.
// kMailRetries starts a process that requests runs for email that has to be retried.
constexpr std::uint32_t kAllRepositories = 0;
constexpr std::uint32_t kMailRetries = 1;

constexpr milliseconds kGraceTime{60'000};
// Time for a sync to report its result after its time limit.
constexpr milliseconds kReportTime{60'000};

std::string name_of_pool_service(const master::PoolConfig& pool) {
  return fmt::format("pool {}", pool.name);
}
std::string name_of_pages_service(const master::PoolConfig& pool) {
  return fmt::format("pages {}", pool.name);
}
std::string name_of_peers_service(const master::PoolConfig& pool) {
  return fmt::format("peers {}", pool.name);
}
std::string name_of_execution_service(const master::PoolConfig& pool) {
  return fmt::format("execution {}", pool.name);
}
std::string name_of_backoffice_service(const master::PoolConfig& pool) {
  return fmt::format("backoffice {}", pool.name);
}

/// Returns a service that runs other programs and logs their output.
master::Service job_service(const master::PoolConfig& pool, std::string name) {
  master::Service service;
  service.name = std::move(name);
  service.kind = master::ServiceKind::kJob;
  service.run_as = pool.run_as;
  service.process = pool.process;
  service.process.catch_output = true;
  return service;
}

/// Adds the last arguments of a program that processes all repositories of POOL.
void add_repositories(Words& words, const master::PoolConfig& pool) {
  const bool is_one = !pool.repository.empty();
  if (!is_one) words.emplace_back("--folder");
  words.push_back(std::filesystem::absolute(is_one ? pool.repository : pool.repositories).string());
}

Words backoffice_arguments(const master::PoolConfig& pool, const worker::BackgroundOptions& options,
                           const EventTarget& courier) {
  const auto lease = std::chrono::ceil<seconds>(options.lease_time);
  Words words{"quarry", "backoffice", "--automatic", "--lease-time", std::to_string(lease.count())};
  if (!courier.socket.empty()) words.insert(words.end(), {"--courier", courier.socket});
  if (!courier.hooks.empty()) words.insert(words.end(), {"--hooks", courier.hooks});
  if (!courier.webhooks.empty()) words.insert(words.end(), {"--webhooks", courier.webhooks});
  if (!courier.replica.empty()) {
    words.insert(words.end(), {"--replica", courier.replica, "--pool", pool.name});
  }
  if (options.compacts) words.emplace_back("--compact");
  if (!options.log.empty()) words.insert(words.end(), {"--logfile", options.log});
  words.insert(words.end(),
               {"--mail-methods", fmt::format("{}", fmt::join(options.mail_methods, ","))});
  add_repositories(words, pool);
  return words;
}

/// Returns the command line of a sync with PEER, one of ALL peers. The command line does not
/// contain secrets, because every user can read it.
Words peer_arguments(const ConfiguredPeer& peer, const std::vector<ConfiguredPeer>& all,
                     const EventTarget& courier) {
  const backoffice::PeerOptions& options = peer.options;
  Words words{"quarry", "peer", "run"};
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  const auto add_time = [&add](const char* option, milliseconds time) {
    add(option, std::to_string(time.count()));
  };
  add("--name", options.name);
  add("--url", options.url);
  add("--remote", options.remote);
  add("--password-file", options.password_file);
  add("--ca-file", options.ca_file);
  add("--direction", std::string(backoffice::name_of(options.direction)));
  if (options.with_private) words.emplace_back("--private");
  if (options.with_unversioned) words.emplace_back("--uv");
  add_time("--interval", options.interval);
  add_time("--retry-delay", options.retry_delay);
  add_time("--retry-max-delay", options.retry_max_delay);
  add_time("--timeout", options.timeout);
  add_time("--max-time", options.max_time);
  add("--courier", courier.socket);
  add("--served-name", peer.name);
  if (peer.is_served) add("--backoffice", std::to_string(repository::number_of(peer.name)));
  for (const ConfiguredPeer& other : all) {
    if (other.file == peer.file && other.number != peer.number && other.options.pushes()) {
      add("--sibling", std::to_string(other.number));
    }
  }
  words.insert(words.end(), {"--", peer.file.string()});
  return words;
}

Words changes_arguments(const char* kind, const master::PoolConfig& pool,
                        const changes::PoolOptions& options, const EventTarget& courier,
                        const worker::PeerNumbers& peers,
                        const worker::ReplicationOptions& replication) {
  static constexpr auto kWords = changes_directives<QueueDirectiveOptions>();
  const std::span<const master::Directive<QueueDirectiveOptions>> table(kWords);
  const auto defaults = master::shown_in(table, QueueDirectiveOptions{});
  const auto wanted = master::shown_in(table, QueueDirectiveOptions{options});
  Words words{"quarry-changes", kind};
  if (!courier.socket.empty()) words.insert(words.end(), {"--courier", courier.socket});
  if (courier.has_notices) words.emplace_back("--notices");
  if (!replication.socket.empty()) {
    words.insert(words.end(), {"--replica", replication.socket, "--pool", pool.name,
                               "--replica-timeout", std::to_string(replication.time_out.count())});
  }
  for (const auto& [name, numbers] : peers) {
    for (const std::uint32_t number : numbers) {
      words.insert(words.end(), {"--peer", fmt::format("{}={}", name, number)});
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // `changes` is not passed on, because the program always serves queues.
    if (wanted[i].name == "changes" || wanted[i].values == defaults[i].values) continue;
    for (const std::string& value : wanted[i].values) {
      words.insert(words.end(), {"--set", fmt::format("{}={}", wanted[i].name, value)});
    }
  }
  add_repositories(words, pool);
  return words;
}

}  // namespace

std::optional<master::Service> backoffice_service(const master::PoolConfig& pool,
                                                  const worker::BackgroundOptions& options,
                                                  const EventTarget& courier) {
  if (!options.is_enabled) return std::nullopt;
  if (!pool.process.chroot.empty()) {
    base::log(base::LogLevel::kNotice,
              "[pool {}] the backoffice is not available in a chroot (see \"backoffice\" in "
              "quarry.conf(5))",
              pool.name);
    return std::nullopt;
  }
  master::Service service = job_service(pool, name_of_backoffice_service(pool));
  service.processes.max_children = options.max_children;
  // The limit must be long enough for a process that first sleeps until its lease begins.
  service.longest_run = std::max(options.longest_run, 2 * options.lease_time + kGraceTime);
  const std::string workers = name_of_pool_service(pool), peers = name_of_peers_service(pool),
                    pages = name_of_pages_service(pool),
                    execution = name_of_execution_service(pool);
  const auto program_for =
      [path = program_beside("quarry", QUARRY_PROGRAM_FOLDER), own = service.name,
       is_folder = pool.repository.empty(), words = backoffice_arguments(pool, options, courier)](
          const std::string& from, std::uint32_t number) -> std::optional<master::Program> {
    Words arguments = words;
    if (from == own && number == kMailRetries) {
      arguments.insert(arguments.begin() + 2, "--only-requests");  // after the command
    } else if (is_folder && (from != own || number != kAllRepositories)) {
      arguments.insert(arguments.end(), {"--number", std::to_string(number)});
    }
    return master::Program{path, std::move(arguments)};
  };
  service.on_request = master::OnRequest{.verb = control::Verb::kBackoffice,
                                         .program_for = program_for,
                                         .from = {workers, peers, pages, execution, service.name},
                                         .max_paused = options.max_sleepers};
  const auto every = std::chrono::duration_cast<seconds>(options.interval);
  // Request the retries of email again at startup, because the previous server's requests are lost.
  // If all repositories have runs at startup, these runs request the retries.
  if (every.count() == 0 || courier.socket.empty()) {
    service.on_request->of_itself.push_back(
        {.number = kMailRetries, .every = std::chrono::days(1), .at_start = true});
  }
  if (every.count() > 0) {
    // With a courier, the server starts a run at startup. The first run only records which data the
    // repository contains, so that later runs can send events for new data.
    service.on_request->of_itself.push_back(
        {.number = kAllRepositories, .every = every, .at_start = !courier.socket.empty()});
  }
  return service;
}

std::optional<master::Service> events_service(const master::PoolConfig& pool,
                                              const worker::BackgroundOptions& options,
                                              const EventTarget& courier) {
  if (!options.is_enabled || !pool.process.chroot.empty() || courier.socket.empty()) {
    return std::nullopt;
  }
  master::Service service = job_service(pool, fmt::format("events {}", pool.name));
  service.processes.max_children = options.max_children;
  service.longest_run = options.longest_run;
  const auto program_for =
      [path = program_beside("quarry", QUARRY_PROGRAM_FOLDER), is_folder = pool.repository.empty(),
       words = backoffice_arguments(pool, options, courier)](
          const std::string&, std::uint32_t number) -> std::optional<master::Program> {
    Words arguments = words;
    arguments.insert(arguments.begin() + 2, "--events");  // after the command
    if (is_folder) arguments.insert(arguments.end(), {"--number", std::to_string(number)});
    return master::Program{path, std::move(arguments)};
  };
  service.on_request = master::OnRequest{
      .verb = control::Verb::kEvents,
      .program_for = program_for,
      .from = {name_of_pool_service(pool), name_of_peers_service(pool), name_of_pages_service(pool),
               name_of_execution_service(pool), name_of_backoffice_service(pool), service.name}};
  return service;
}

Result<worker::BackgroundCheck> look_for_work(repository::Repository& repository,
                                              milliseconds lease_time) {
  const backoffice::TurnOptions options{.lease_time = std::chrono::ceil<seconds>(lease_time)};
  QUARRY_TRY_ASSIGN(const auto forecast, backoffice::forecast_run(repository, options));
  return worker::BackgroundCheck{forecast.is_wanted, forecast.until};
}

std::vector<ConfiguredPeer> peers_of(const master::Config& config, const master::PoolConfig& pool) {
  std::vector<ConfiguredPeer> peers = peers_in(config).peers;
  std::erase_if(peers, [&](const ConfiguredPeer& peer) { return peer.pool != pool.name; });
  return peers;
}

worker::PeerNumbers peer_numbers(const std::vector<ConfiguredPeer>& peers) {
  worker::PeerNumbers numbers;
  for (const ConfiguredPeer& peer : peers) {
    if (peer.is_served && peer.options.pushes()) numbers[peer.name].push_back(peer.number);
  }
  return numbers;
}

std::optional<master::Service> peers_service(const master::PoolConfig& pool,
                                             const std::vector<ConfiguredPeer>& peers,
                                             const EventTarget& courier) {
  if (peers.empty()) return std::nullopt;
  master::Service service = job_service(pool, name_of_peers_service(pool));
  // Each peer has a separate process, so a peer that hangs does not delay the others.
  service.processes.max_children = peers.size();
  service.starts_alone = true;
  std::map<std::uint32_t, Words> words;
  master::OnRequest kind{
      .verb = control::Verb::kPeer,
      .program_for = {},
      .from = {name_of_pool_service(pool), name_of_execution_service(pool), service.name}};
  for (const ConfiguredPeer& peer : peers) {
    words[peer.number] = peer_arguments(peer, peers, courier);
    const auto every = std::chrono::ceil<seconds>(peer.options.interval);
    kind.of_itself.push_back({.number = peer.number, .every = every, .at_start = true});
    service.longest_run = std::max(service.longest_run, peer.options.max_time + kReportTime);
  }
  kind.program_for =
      [path = program_beside("quarry", QUARRY_PROGRAM_FOLDER), words = std::move(words)](
          const std::string&, std::uint32_t number) -> std::optional<master::Program> {
    const auto at = words.find(number);
    if (at == words.end()) return std::nullopt;
    return master::Program{path, at->second};
  };
  service.on_request = std::move(kind);
  return service;
}

std::vector<master::Service> changes_services(const master::PoolConfig& pool,
                                              const changes::PoolOptions& options,
                                              const EventTarget& courier,
                                              const worker::PeerNumbers& peers,
                                              const worker::ReplicationOptions& replication) {
  std::vector<master::Service> services;
  if (!options.is_enabled) return services;
  if (!pool.process.chroot.empty()) {
    base::log(base::LogLevel::kNotice, "[pool {}] change-set queues are not available in a chroot",
              pool.name);
    return services;
  }
  for (const char* kind : {"prequeue", "queueing", "execution"}) {
    master::Service service = job_service(pool, fmt::format("{} {}", kind, pool.name));
    const bool lands = service.name == name_of_execution_service(pool);
    service.processes.max_children = 1;
    // A gate can run for hours. So the previous execution daemon continues after a reload: it hands
    // over its queues immediately, and waits for its gates. The other daemons exit immediately.
    service.ends_by_itself = lands;
    service.starts_alone = !lands;
    service.requests_jobs = lands;
    service.program =
        master::Program{program_beside("quarry-changes", QUARRY_SERVER_FOLDER),
                        changes_arguments(kind, pool, options, courier, peers, replication)};
    services.push_back(std::move(service));
  }
  return services;
}

}  // namespace quarry::app
