// Maps a request's method, content type and path to an endpoint of a repository. Used by the
// workers of a pool and by `quarry http`.
//
//   POST, content type of a sync        the sync protocol, whatever follows the name
//   …/queue, …/queue/…                  the queue of change sets (queue_endpoint.h): GET, HEAD, and
//                                       POST with a content type of its own
//   GET, HEAD  [/NAME], …/index, …/xfer one line with the URL to clone; in a worker, for browsers, a
//                                       page (quarry/pages/repository_page.h)
//   other methods 405, other content types 415, other paths 404
//
// repository_name.h says which names a path may contain.
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

/// What a path refers to. Views into the path.
struct Target {
  std::optional<repository::RepositoryName> name;  // nullopt: the only repository served
  std::string_view endpoint;                       // the reserved word after it, or ""
  std::string_view rest;                           // everything after the name
};

/// The target of PATH where a single repository is served, which any path refers to.
Target target_of_only(std::string_view path);
/// The target of PATH in a folder of repositories: the first name that PATH may contain and for
/// which CHECK_EXISTS succeeds. Errors: kNotFound, or the first error of CHECK_EXISTS other than
/// that.
base::Result<Target> target_in_folder(
    std::string_view path,
    const std::function<base::Result<void>(const repository::RepositoryName&)>& check_exists);

/// An error if METHOD is not served at all.
std::expected<void, http::Refusal> check_method(std::string_view method);
/// The endpoint for METHOD (which must be served) and CONTENT_TYPE on TARGET.
std::expected<Endpoint, http::Refusal> endpoint_of(std::string_view method,
                                                   std::string_view content_type,
                                                   const Target& target);

/// Whether the pages process answers this request, if there is one: all but syncs and the queue.
bool is_page(std::string_view method, std::string_view content_type, const Target& target);

/// The reply to a client if a repository cannot be found or opened. The path and the cause go to
/// the log only.
http::Refusal refusal_of(const base::Error& error);

/// One line that says how to clone the repository served as NAME ("": the only one) at HOST.
std::string description(bool is_https, std::string_view host, const std::string& name);

}  // namespace quarry::worker
