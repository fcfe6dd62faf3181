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
  /// False if a folder cannot be read, because of an error or a concurrent change. Folders without
  /// permission do not count.
  bool is_complete = true;
};

/// Returns the queues of all repositories below FOLDER that have a queue folder.
FoundQueues queues_below(const std::filesystem::path& folder, const changes::PoolOptions& options);

}  // namespace quarry::app
