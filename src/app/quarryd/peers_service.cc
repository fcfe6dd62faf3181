#include "peers_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

#include "courier_service.h"
#include "quarry/repository/repository_name.h"

namespace quarry::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How long a sync may take to report its result after its time limit.
constexpr milliseconds kReportTime{60'000};

/// The command line that syncs with PEER, one of ALL peers. It contains no secrets, because every
/// user can read it.
std::vector<std::string> arguments_for(const ConfiguredPeer& peer,
                                       const std::vector<ConfiguredPeer>& all,
                                       const std::string& courier) {
  const backoffice::PeerOptions& options = peer.options;
  std::vector<std::string> words{"quarry", "peer", "run"};
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
  add("--courier", courier);
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

}  // namespace

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

std::string peers_service_name(const std::string& pool) {
  return fmt::format("peers {}", pool);
}

std::optional<master::Service> peers_service(const master::PoolConfig& pool,
                                             const master::Service& pool_service,
                                             const std::vector<ConfiguredPeer>& peers,
                                             const std::string& courier) {
  if (peers.empty()) return std::nullopt;
  master::Service service;
  service.name = peers_service_name(pool.name);
  service.kind = master::ServiceKind::kJob;
  service.run_as = pool.run_as;
  service.process = pool.process;
  service.process.catch_output = true;  // so that its output is logged
  // One process per peer, so that a peer that hangs does not delay the others.
  service.processes.max_children = peers.size();
  service.starts_alone = true;
  std::map<std::uint32_t, std::vector<std::string>> words;
  master::OnRequest kind{
      .verb = control::Verb::kPeer, .program_for = {}, .from = {pool_service.name, service.name}};
  for (const ConfiguredPeer& peer : peers) {
    words[peer.number] = arguments_for(peer, peers, courier);
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

}  // namespace quarry::app
