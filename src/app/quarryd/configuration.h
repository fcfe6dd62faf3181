// The configuration of quarryd with all directives: the directives of the master, the HTTP front,
// workers (worker_directives.cc), the courier (courier_configuration.h), peers
// (peer_configuration.h) and replication (replica_configuration.h).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "quarry/gateway/certificate.h"
#include "quarry/gateway/gateway_options.h"
#include "quarry/master/config.h"
#include "quarry/master/directive_table.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// Read a configuration like master::read_config() and master::parse_config(), with all directives
/// of quarryd.
master::ConfigReading read_configuration(const std::filesystem::path& path,
                                         master::ReadingOptions options = {});
master::ConfigReading parse_configuration(std::string_view text, const std::string& path,
                                          master::ReadingOptions options = {});

/// The directives of a pool for its workers: repository.…, sync.…, backoffice.…, changes.…, pages.…,
/// and timeouts.
std::span<const master::Directive<worker::WorkerOptions>> worker_directives();

/// Returns the worker options from POOL's directives. Other fields have their defaults.
worker::WorkerOptions worker_options_in(const master::PoolConfig& pool);
/// Returns the directives of [http] for CERTIFICATE. Other directives have their defaults.
std::shared_ptr<master::CarriedOptions> front_options_with(
    const gateway::CertificateFiles& certificate);
/// Returns the options of the HTTP front from HTTP's directives.
gateway::GatewayOptions gateway_options_in(const master::HttpConfig& http);

}  // namespace quarry::app
