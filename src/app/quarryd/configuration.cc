#include "configuration.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "courier_configuration.h"
#include "gateway_directives.h"
#include "peer_configuration.h"
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

master::ConfigReading checked(master::ConfigReading reading) {
  // Where a pool is wrong, what is said of its repositories would be, too.
  auto peers =
      reading.mistakes.empty() ? peers_in(reading.config).mistakes : std::vector<std::string>();
  std::ranges::move(peers, std::back_inserter(reading.mistakes));
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
