#include "queues.h"

#include <algorithm>
#include <utility>

#include "quarry/base/file_system.h"
#include "quarry/repository/repository_folder.h"

namespace quarry::app {

FoundQueues queues_below(const std::filesystem::path& folder, const changes::PoolOptions& options) {
  FoundQueues found;
  const auto below = repository::names_below(folder);
  for (const repository::RepositoryName& name : below.names) {
    std::filesystem::path path = folder / name.file();
    std::filesystem::path base = changes::queue_base(options, path, name.str());
    // Do not skip a queue whose folder cannot be accessed: opening the queue reports the error.
    const auto type = base::type_of_file(base);
    if (type && *type != std::filesystem::file_type::directory) continue;
    if (!repository::locate(folder, name)) continue;
    found.queues.push_back({.repository = std::move(path), .base = std::move(base)});
  }
  found.is_complete = std::ranges::all_of(
      below.errors, [](const Error& error) { return error.code == ErrorCode::kDenied; });
  return found;
}

}  // namespace quarry::app
