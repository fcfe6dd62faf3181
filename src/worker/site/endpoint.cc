#include "quarry/worker/endpoint.h"

#include <fmt/core.h>

#include "quarry/base/escape.h"
#include "quarry/changes/queue_view.h"
#include "quarry/sync/request.h"
#include "quarry/worker/queue_endpoint.h"

namespace quarry::worker {
namespace {

std::unexpected<http::Refusal> refuse(int status, std::string text) {
  return std::unexpected(http::Refusal{.status = status, .text = std::move(text)});
}

}  // namespace

Target target_of_only(std::string_view path) {
  const std::size_t last = path.find_last_not_of('/');
  const std::string_view trimmed = path.substr(0, last + 1);
  const std::string_view word = trimmed.substr(trimmed.rfind('/') + 1);
  return {std::nullopt, repository::is_endpoint(word) ? word : std::string_view(), trimmed};
}

Result<Target> target_in_folder(
    std::string_view path,
    const std::function<Result<void>(const repository::RepositoryName&)>& check_exists) {
  Error why{.code = ErrorCode::kNotFound, .message = "no such repository"};
  for (repository::NameCandidate& candidate : repository::names_in(path)) {
    if (auto found = check_exists(candidate.name); !found) {
      if (why.code == ErrorCode::kNotFound) why = std::move(found).error();
      continue;
    }
    const std::string_view word = candidate.rest.substr(0, candidate.rest.find('/'));
    return Target{std::move(candidate.name), candidate.has_endpoint ? word : std::string_view(),
                  candidate.rest};
  }
  return std::unexpected(std::move(why));
}

std::expected<void, http::Refusal> check_method(std::string_view method) {
  if (method == "POST" || method == "GET" || method == "HEAD") return {};
  return refuse(405, fmt::format("method {} is not supported", base::printable(method, 20)));
}

std::expected<Endpoint, http::Refusal> endpoint_of(std::string_view method,
                                                   std::string_view content_type,
                                                   const Target& target) {
  if (method == "POST") {
    if (sync::is_sync_content_type(content_type)) return Endpoint::kSync;
    if (queue_path_of(target)) {
      if (is_queue_content_type(content_type)) return Endpoint::kQueue;
      return refuse(415,
                    fmt::format("the queue accepts only change sets ({}), actions ({}) and the "
                                "forms of its pages",
                                changes::kTarballType, changes::kActionType));
    }
    return refuse(415, "only sync requests (application/x-fossil) are accepted");
  }
  if (queue_path_of(target)) return Endpoint::kQueue;
  const bool is_base = target.rest.empty() || target.rest == "index" || target.endpoint == "xfer";
  if (is_base) return Endpoint::kDescription;
  return refuse(404, "no such page: this server supports only the sync protocol");
}

bool is_page(std::string_view method, std::string_view content_type, const Target& target) {
  const bool is_sync = method == "POST" && sync::is_sync_content_type(content_type);
  return !is_sync && !queue_path_of(target);
}

http::Refusal refusal_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
    case ErrorCode::kDenied:
      return {.status = 404, .text = "no such repository"};
    case ErrorCode::kBusy:
      return {.status = 503, .text = "the repository is busy, try again"};
    default:
      return {.status = 500, .text = "the repository cannot be opened"};
  }
}

std::string description(bool is_https, std::string_view host, const std::string& name) {
  return fmt::format("A Fossil repository. To clone it:  fossil clone {}://{}/{}",
                     is_https ? "https" : "http", base::printable(host), name);
}

}  // namespace quarry::worker
