// The part of a server's configuration that applies to one repository, for commands that act without
// the server.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// The parts of a server's configuration that apply to one repository.
struct Server {
  /// Options of the pool that serves the repository, or nullopt.
  std::optional<worker::WorkerOptions> pool;
  std::string name;                  // name in the pool; empty if the pool serves one file
  std::vector<std::string> courier;  // options for `quarry backoffice`, if there is a courier
};

/// Reads CONFIG, and finds the pool that serves FILE. Fails with kIo if CONFIG exists but
/// cannot be read, because the rules of the pool are then unknown.
Result<Server> server_of(const std::string& config, const std::filesystem::path& file);

}  // namespace quarry::app
