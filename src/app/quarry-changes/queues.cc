#include "queues.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "quarry/repository/repository_folder.h"
#include "quarry/repository/repository_name.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".fossil";
constexpr int kMaxDepth = 16;

}  // namespace

std::optional<std::vector<ServedQueue>> queues_below(const fs::path& folder,
                                                     const changes::PoolOptions& options) {
  std::vector<ServedQueue> queues;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    // Skip the folders of a queue, which contain many files but no repositories.
    const fs::path& path = at->path();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (path.extension() == ".changes" || at.depth() >= kMaxDepth) {
        at.disable_recursion_pending();
      }
      continue;
    }
    std::string text = path.lexically_relative(folder).string();
    if (!text.ends_with(kEnding)) continue;
    text.resize(text.size() - kEnding.size());
    const auto name = repository::RepositoryName::parse(text);
    if (!name) continue;
    const fs::path base = changes::queue_base(options, path, name->str());
    if (!fs::is_directory(base, ignored) || !repository::locate(folder, *name)) continue;
    queues.push_back({.repository = path, .base = base});
  }
  if (error) return std::nullopt;
  std::ranges::sort(queues, {}, &ServedQueue::repository);
  return queues;
}

}  // namespace quarry::app
