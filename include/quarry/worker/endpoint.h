// What a request asks of the repository that its path means: one table, for the workers of a pool
// and for `quarry http`.
//
//   POST, content type of a sync        the sync protocol, whatever follows the name
//   …/queue, …/queue/…                  the queue of change sets (queue_endpoint.h): GET, HEAD, and
//                                       POST with a content type of its own
//   GET, HEAD  [/NAME], …/index, …/xfer one line with the URL to clone; in a worker, for browsers, a
//                                       page (quarry/pages/repository_page.h)
//   other methods 405, other content types 415, other paths 404
//
// What stands in for a repository's name is in repository_name.h.
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

/// What a path means. Views are of the path.
struct Target {
  std::optional<repository::RepositoryName> name;  // nothing: the only repository that is served
  std::string_view endpoint;                       // the reserved word after it, or ""
  std::string_view rest;                           // all that follows the name
};

/// Where one repository is served, whatever the path.
Target target_of_only(std::string_view path);
/// Where a folder of them is: the first name that PATH may mean and LOOK_FOR finds. Errors: the
/// first of LOOK_FOR's that is not kNotFound; kNotFound.
base::Result<Target> target_in_folder(
    std::string_view path,
    const std::function<base::Result<void>(const repository::RepositoryName&)>& check_exists);

/// Whether METHOD is served at all; otherwise the refusal.
std::expected<void, http::Refusal> check_method(std::string_view method);
/// What a request with METHOD, which is served, and CONTENT_TYPE asks of TARGET.
std::expected<Endpoint, http::Refusal> endpoint_of(std::string_view method,
                                                   std::string_view content_type,
                                                   const Target& target);

/// Whether it is for who makes web pages, where there are any: all but syncs and the queue.
bool is_page(std::string_view method, std::string_view content_type, const Target& target);

/// What a client is told of a repository that cannot be found or opened. The path and the cause are
/// for the log alone.
http::Refusal refusal_of(const base::Error& error);

/// How to have the repository that is served as NAME ("": alone) at HOST, in one line.
std::string description(bool is_https, std::string_view host, const std::string& name);

}  // namespace quarry::worker
