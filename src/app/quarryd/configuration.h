// The configuration of quarryd with all its words: those of the master, and those that workers
// (worker_directives.h), the HTTP front (gateway_directives.h), the courier
// (courier_configuration.h) and peers (peer_configuration.h) give a meaning to.
#pragma once

#include <filesystem>
#include <string_view>

#include "quarry/gateway/gateway_options.h"
#include "quarry/master/config.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// As master::read_config() and master::parse_config(), which see.
master::ConfigReading read_configuration(const std::filesystem::path& path,
                                         master::ReadingOptions options = {});
master::ConfigReading parse_configuration(std::string_view text, const std::string& path,
                                          master::ReadingOptions options = {});

/// What the words of POOL say of its workers; all else is not set.
worker::WorkerOptions worker_options_in(const master::PoolConfig& pool);
/// What those of HTTP say of the front.
gateway::GatewayOptions gateway_options_in(const master::HttpConfig& http);

}  // namespace quarry::app
