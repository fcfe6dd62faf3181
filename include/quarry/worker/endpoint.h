// Maps a request's method, content type and path to an endpoint of a repository. Used by the
// workers of a pool and by `quarry http`:
//
//   POST, content type of a sync        the sync protocol, with any path after the name
//   …/queue, …/queue/…                  the queue of change sets (queue_endpoint.h): GET, HEAD, and
//                                       POST with a content type of the queue
//   GET, HEAD  [/NAME], …/index, …/xfer one line with the URL to clone; a worker sends browsers a
//                                       page instead (quarry/pages/repository_page.h)
//   other methods get a 405, other content types a 415, other paths a 404
//
// repository_name.h defines the valid names of repositories.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/http/request_head.h"
#include "quarry/repository/repository_name.h"

namespace quarry::worker {

enum class Endpoint {
  kSync,
  kQueue,        // see queue_endpoint.h
  kDescription,  // see description()
};

/// The repository and the endpoint in a path. The members are views into the path.
struct Target {
  std::optional<repository::RepositoryName> name;  // nullopt: the pool serves a single repository
  std::string_view endpoint;                       // the reserved word after the name, or ""
  std::string_view rest;                           // the whole path after the name
};

/// Returns the target of PATH for a pool that serves a single repository. Every path refers to that
/// repository.
Target target_of_only(std::string_view path);
/// Returns the target of PATH in a folder of repositories. Calls CHECK_EXISTS for each name that
/// PATH might begin with, in the order of repository::names_in(), until CHECK_EXISTS succeeds.
/// Errors: the first error of CHECK_EXISTS except kNotFound; otherwise kNotFound.
Result<Target> target_in_folder(
    std::string_view path,
    const std::function<Result<void>(const repository::RepositoryName&)>& check_exists);

/// Checks METHOD. Returns a refusal if the server does not support the method.
std::expected<void, http::Refusal> check_method(std::string_view method);
/// Returns the endpoint of TARGET for METHOD and CONTENT_TYPE. METHOD must be supported.
std::expected<Endpoint, http::Refusal> endpoint_of(std::string_view method,
                                                   std::string_view content_type,
                                                   const Target& target);

/// Returns whether the pages process, if the pool has one, answers this request. The pages process
/// answers all requests except syncs and requests for the queue.
bool is_page(std::string_view method, std::string_view content_type, const Target& target);

/// Returns the reply to a client if a repository cannot be found or opened. The path and the cause
/// appear only in the log.
http::Refusal refusal_of(const Error& error);

/// Returns one line with the URL to clone the repository NAME at HOST. "" means the only
/// repository.
std::string description(bool is_https, std::string_view host, const std::string& name);

}  // namespace quarry::worker
