#include "queue_paths.h"

#include <algorithm>
#include <optional>

#include "quarry/base/blanks.h"
#include "quarry/http/syntax.h"
#include "quarry/worker/queue_endpoint.h"

namespace quarry::worker {
namespace {

constexpr std::string_view kQueueWord = "queue";

}  // namespace

std::string_view media_type_of(std::string_view content_type) {
  return base::trim_blanks(content_type.substr(0, content_type.find(';')));
}

std::optional<std::string_view> queue_path_of(const Target& target) {
  std::string_view rest = target.rest;
  while (!rest.empty()) {
    if (rest.front() == '/') {
      rest.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word == kQueueWord) {
      rest.remove_prefix(end);
      while (rest.starts_with('/')) rest.remove_prefix(1);
      return rest;
    }
    if (end == rest.size() && word == "queue.json") return rest.substr(kQueueWord.size());
    // In a folder the word must follow the name; a single repository may be under any path.
    if (target.name) return std::nullopt;
    rest.remove_prefix(end);
  }
  return std::nullopt;
}

bool is_queue_content_type(std::string_view content_type) {
  const std::string_view type = media_type_of(content_type);
  return http::same_name(type, kTarballType) || http::same_name(type, kActionType);
}

}  // namespace quarry::worker
