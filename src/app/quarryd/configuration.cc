#include "configuration.h"

#include <fmt/core.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "courier_configuration.h"
#include "gateway_directives.h"
#include "peer_configuration.h"
#include "quarry/base/escape.h"
#include "quarry/changes/options.h"
#include "quarry/master/credentials.h"
#include "worker_directives.h"

namespace quarry::app {
namespace {

master::ReadingOptions with_words(master::ReadingOptions options) {
  options.pool_options = [] {
    return std::make_shared<master::OptionsBy<worker::WorkerOptions>>(worker_directives());
  };
  options.http_options = [] {
    return std::make_shared<master::OptionsBy<gateway::GatewayOptions>>(gateway_directives());
  };
  options.carried_section = [](const std::string& name) {
    auto section = courier_section(name);
    return section ? section : peer_section(name);
  };
  return options;
}

/// Why POOL's gates could never run; "" if they can. The daemons of its queues run as the pool's
/// user.
std::string gate_mistake(const master::PoolConfig& pool) {
  const changes::PoolOptions options = worker_options_in(pool).changes;
  if (!options.is_enabled || options.gate.program.empty()) return {};
  const uid_t user = pool.run_as ? pool.run_as->uid : ::geteuid();
  const std::string& wanted = options.gate.user;
  if (wanted.empty()) {
    return user == 0 ? "changes.gate: root runs no gate as root: changes.gate_user names whom it "
                       "becomes"
                     : "";
  }
  const auto known = master::credentials_named(wanted, "");
  if (!known) return fmt::format("changes.gate_user: {}", known.error().message);
  if (known->uid == 0) return "changes.gate_user: no gate runs as root";
  if (user == 0 || user == known->uid) return {};
  return fmt::format(
      "changes.gate_user: the queue runs with the rights of the pool's user, who cannot become {}: "
      "leave it out, and the sandbox alone keeps the gate apart",
      base::printable(wanted));
}

std::vector<std::string> gate_mistakes(const master::Config& config) {
  std::vector<std::string> mistakes;
  for (const master::PoolConfig& pool : config.pools) {
    const std::string mistake = gate_mistake(pool);
    if (!mistake.empty()) mistakes.push_back(fmt::format("[{}] {}", pool.name, mistake));
  }
  return mistakes;
}

master::ConfigReading checked(master::ConfigReading reading) {
  // Errors in a pool would cause misleading errors about its peers and gates.
  auto peers =
      reading.mistakes.empty() ? peers_in(reading.config).mistakes : std::vector<std::string>();
  auto gates =
      reading.mistakes.empty() ? gate_mistakes(reading.config) : std::vector<std::string>();
  std::ranges::move(peers, std::back_inserter(reading.mistakes));
  std::ranges::move(gates, std::back_inserter(reading.mistakes));
  std::ranges::move(courier_mistakes(reading.config), std::back_inserter(reading.mistakes));
  return reading;
}

}  // namespace

master::ConfigReading read_configuration(const std::filesystem::path& path,
                                         master::ReadingOptions options) {
  return checked(master::read_config(path, with_words(std::move(options))));
}

master::ConfigReading parse_configuration(std::string_view text, const std::string& path,
                                          master::ReadingOptions options) {
  return checked(master::parse_config(text, path, with_words(std::move(options))));
}

worker::WorkerOptions worker_options_in(const master::PoolConfig& pool) {
  return master::options_in<worker::WorkerOptions>(pool.carried);
}

gateway::GatewayOptions gateway_options_in(const master::HttpConfig& http) {
  return master::options_in<gateway::GatewayOptions>(http.carried);
}

}  // namespace quarry::app
