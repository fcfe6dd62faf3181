// Finds the queues that a quarry-changes daemon serves.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "quarry/changes/options.h"

namespace quarry::app {

struct ServedQueue {
  std::filesystem::path repository;
  std::filesystem::path base;

  friend bool operator==(const ServedQueue&, const ServedQueue&) = default;
};

/// Returns the queues of all repositories below FOLDER that have a queue folder. Returns nullopt if
/// the folders cannot be listed completely, because of an error or a concurrent change.
std::optional<std::vector<ServedQueue>> queues_below(const std::filesystem::path& folder,
                                                     const changes::PoolOptions& options);

}  // namespace quarry::app
