// Finds the queues that a quarry-changes daemon serves.
#pragma once

#include <filesystem>
#include <vector>

#include "quarry/changes/options.h"

namespace quarry::app {

struct ServedQueue {
  std::filesystem::path repository;
  std::filesystem::path base;

  friend bool operator==(const ServedQueue&, const ServedQueue&) = default;
};

struct FoundQueues {
  std::vector<ServedQueue> queues;
  /// False if a folder could not be read for any reason other than missing permission.
  bool is_complete = true;
};

/// Returns the queues of all repositories below FOLDER that have a queue folder.
FoundQueues queues_below(const std::filesystem::path& folder, const changes::PoolOptions& options);

}  // namespace quarry::app
