// The queues that a daemon of quarry-changes looks after.
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

/// Those of the repositories below FOLDER that have one: whose folder somebody has made. Nothing: they
/// cannot all be seen, for something is in the way, or has just been changed.
std::optional<std::vector<ServedQueue>> queues_below(const std::filesystem::path& folder,
                                                     const changes::PoolOptions& options);

}  // namespace quarry::app
