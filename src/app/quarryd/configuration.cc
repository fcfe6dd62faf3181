#include "configuration.h"

#include <fmt/core.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "courier_configuration.h"
#include "front_certificates.h"
#include "peer_configuration.h"
#include "quarry/base/escape.h"
#include "quarry/base/spawn.h"
#include "quarry/changes/options.h"
#include "quarry/master/credentials.h"
#include "quarry/master/kinds.h"
#include "replica_configuration.h"

namespace quarry::app {
namespace {

/// Files, one per line. With a prefix (`quarryd -p`), relative paths are allowed.
struct Files : master::Paths {
  static bool is_relative(std::string_view value) { return master::Path::is_relative(value); }
};

/// The directives of [http] that concern the HTTP front.
constexpr auto kGatewayDirectives = std::to_array<master::Directive<gateway::GatewayOptions>>({
    {"ssl_certificate", Files(), QUARRY_FIELD(certificate_files)},
    {"ssl_certificate_key", Files(), QUARRY_FIELD(key_files)},
    {"hsts", master::Duration(), QUARRY_FIELD(hsts)},
    {"max_body", master::Size(), QUARRY_FIELD(max_body)},
    {"max_bodies", master::Size(), QUARRY_FIELD(max_bodies)},
    {"max_reply", master::Size(), QUARRY_FIELD(max_reply)},
    {"max_replies", master::Size(), QUARRY_FIELD(max_replies)},
    {"keepalive_timeout", master::Timeout(), QUARRY_FIELD(keepalive_timeout)},
    {"client_timeout", master::Timeout(), QUARRY_FIELD(client_timeout)},
    {"pool_timeout", master::Timeout(), QUARRY_FIELD(pool_timeout)},
    {"max_connections", master::Number<1, 100000>(), QUARRY_FIELD(max_connections)},
    {"max_connections_per_address", master::Number<>(), QUARRY_FIELD(max_connections_per_address)},
});

master::ReadingOptions with_words(master::ReadingOptions options) {
  options.pool_options = [] {
    return std::make_shared<master::OptionsBy<worker::WorkerOptions>>(worker_directives());
  };
  options.http_options = [] {
    return std::make_shared<master::OptionsBy<gateway::GatewayOptions>>(kGatewayDirectives);
  };
  options.carried_section = [](const std::string& name) {
    auto section = courier_section(name);
    if (!section) section = replica_section(name);
    return section ? section : peer_section(name);
  };
  return options;
}

/// Returns why POOL's gates cannot run, or "" if they can. The pool's user starts the gates.
std::string gate_error(const master::PoolConfig& pool) {
  const changes::PoolOptions options = worker_options_in(pool).changes;
  if (!options.is_enabled || options.gate.program.empty()) return {};
  const uid_t user = pool.run_as ? pool.run_as->uid : ::geteuid();
  const std::string& gate_user = options.gate.user;
  if (gate_user.empty()) {
    return user == 0 ? "changes.gate: gates may not run as root; set changes.gate_user" : "";
  }
  const auto found = master::credentials_named(gate_user, "");
  if (!found) return fmt::format("changes.gate_user: {}", found.error().message);
  if (found->uid == 0) return "changes.gate_user: gates may not run as root";
  if (user == 0 || user == found->uid) return {};
  return fmt::format(
      "changes.gate_user: the pool's user cannot switch to {}; omit this directive to run gates as "
      "the pool's user in the sandbox",
      base::printable(gate_user));
}

bool is_script(const std::string& program) {
  std::ifstream file(program);
  return file.get() == '#' && file.get() == '!';
}

/// Returns an error if POOL's confined processes cannot execute pages.program, otherwise "".
std::string confinement_error(const master::PoolConfig& pool) {
  const pages::Options options = worker_options_in(pool).pages;
  if (options.source == pages::Source::kNone || !options.is_confined) return {};
  if (!options.allow_execute.empty() || !is_script(base::find_program(options.program))) return {};
  return fmt::format(
      "pages.program: {} is a script: list its interpreter and the programs that it starts in "
      "pages.allow_execute, or set pages.confine = no",
      base::printable(options.program));
}

master::ConfigReading checked(master::ConfigReading reading) {
  // Do these checks only if no other mistake was found, because mistakes in a pool cause misleading
  // errors about its peers and gates.
  if (reading.mistakes.empty()) {
    reading.mistakes = peers_in(reading.config).mistakes;
    std::ranges::move(replica_mistakes(reading.config), std::back_inserter(reading.mistakes));
    for (const master::PoolConfig& pool : reading.config.pools) {
      for (const std::string& error : {gate_error(pool), confinement_error(pool)}) {
        if (!error.empty()) reading.mistakes.push_back(fmt::format("[{}] {}", pool.name, error));
      }
    }
    if (const auto& http = reading.config.http) {
      if (auto error = certificates_error(*http); !error.empty()) {
        reading.mistakes.push_back(std::move(error));
      }
    }
  }
  std::ranges::move(courier_mistakes(reading.config), std::back_inserter(reading.mistakes));
  for (const master::PoolConfig& pool : reading.config.pools) {
    if (!worker_options_in(pool).has_repository_webhooks || courier_config_in(reading.config)) {
      continue;
    }
    reading.mistakes.push_back(
        fmt::format("[{}] repository_webhooks requires a [courier] section", pool.name));
  }
  return reading;
}

}  // namespace

master::ConfigReading read_configuration(const std::filesystem::path& path,
                                         master::ReadingOptions options) {
  return checked(master::read_config(path, with_words(std::move(options))));
}

master::ConfigReading parse_configuration(std::string_view text, const std::string& path,
                                          master::ReadingOptions options) {
  const bool is_in_use = options.is_in_use;
  master::ConfigReading reading = master::parse_config(text, path, with_words(std::move(options)));
  return is_in_use ? std::move(reading) : checked(std::move(reading));
}

worker::WorkerOptions worker_options_in(const master::PoolConfig& pool) {
  return master::options_in<worker::WorkerOptions>(pool.carried);
}

std::shared_ptr<master::CarriedOptions> front_options_with(
    const gateway::CertificateFiles& certificate) {
  return std::make_shared<master::OptionsBy<gateway::GatewayOptions>>(
      kGatewayDirectives, gateway::GatewayOptions{.certificate_files = {certificate.certificate},
                                                  .key_files = {certificate.key}});
}

gateway::GatewayOptions gateway_options_in(const master::HttpConfig& http) {
  return master::options_in<gateway::GatewayOptions>(http.carried);
}

}  // namespace quarry::app
