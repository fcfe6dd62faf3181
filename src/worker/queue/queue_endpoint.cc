#include "quarry/worker/queue_endpoint.h"

#include <algorithm>

#include "quarry/changes/queue_view.h"
#include "quarry/http/syntax.h"
#include "queue_answer.h"

namespace quarry::worker {

std::optional<std::string_view> queue_path_of(const Target& target) {
  std::string_view rest = target.rest;
  while (!rest.empty()) {
    if (rest.front() == '/') {
      rest.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word == kQueue) {
      rest.remove_prefix(end);
      while (rest.starts_with('/')) rest.remove_prefix(1);
      return rest;
    }
    if (end == rest.size() && word == "queue.json") return rest.substr(kQueue.size());
    // In a folder, "queue" must directly follow the repository's name. If the pool serves a single
    // repository, any path can precede "queue".
    if (target.name) return std::nullopt;
    rest.remove_prefix(end);
  }
  return std::nullopt;
}

bool is_queue_content_type(std::string_view content_type) {
  const std::string_view type = media_type_of(content_type);
  return http::same_name(type, changes::kTarballType) ||
         http::same_name(type, changes::kActionType) || http::same_name(type, kFormType);
}

QueueReply QueueEndpoint::answer(repository::Repository& repository,
                                 const QueueRequest& request) const {
  return QueueAnswer(options_, files_, clock_, repository, request).run();
}

}  // namespace quarry::worker
