// The queue of change sets of a repository, for the workers of a pool and for `quarry http`:
//
//   GET  …/queue            the queue; GET …/queue/CSID: one change set. HTML, or JSON if the path
//                           ends in .json or the client accepts application/json
//   POST …/queue?type=DC    the body is the tarball of a change set (application/x-quarry-change-set),
//                           written to disk as it arrives; the reply is a 202 with the id as JSON
//   POST …/queue/CSID/WORD  approve, hold, release, abandon or retry (application/x-quarry-action,
//                           with an empty body); ?text= is the reason, or an approval's reference
//   POST …/queue/freeze     (or thaw) a branch: ?branch=
//   GET  …/queue/CSID.json?ask=why        the reason why the change set waits
//   GET  …/queue/CSID?ask=diff            a page with the diff of the change set
//   GET  …/queue/CSID.json?ask=rollback   the change sets that a rollback would undo
//
// CSID can be abbreviated. All users with read access to the repository can read the queue. All
// other requests have to be signed (quarry/sync/signed_request.h) by a user with the required right
// (quarry/changes/rights.h). A signed request is accepted only once. The worker does not open the
// tarball. The prequeue daemon opens the tarball, with fewer privileges.
//
// Browsers that are logged in to fossil's web pages can read the queue, and can send the form on
// the page of a change set. The form is posted to the URL of an action as
// application/x-www-form-urlencoded, with the fields `text` and `csrf`, the token of the login. The
// reply is a redirection to the page of the change set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/options.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"
#include "quarry/worker/endpoint.h"

namespace quarry::worker {

/// Returns the part of TARGET after the word `queue`, without slashes around it. Returns nullopt if
/// TARGET is not in the queue.
std::optional<std::string_view> queue_path_of(const Target& target);
/// Returns whether CONTENT_TYPE is one of the types that clients and browsers post to a queue.
bool is_queue_content_type(std::string_view content_type);

struct QueueRequest {
  std::string_view method = {};
  std::string_view target = {};  // path and query, as the client wrote them
  std::string_view path = {};    // from queue_path_of()
  std::string_view query = {};
  std::string_view content_type = {};
  std::string_view accept = {};
  std::string_view date = {};  // X-Quarry-Date
  std::string_view cookie = {};
  std::string_view remote_user = {};  // empty unless the pool trusts the web server
  std::string_view remote_address = {};
  std::string_view host = {};
  std::string_view origin = {};      // Origin
  std::string_view fetch_site = {};  // Sec-Fetch-Site
  /// The repository's name, or "" if the pool serves a single repository.
  std::string_view name = {};
  bool has_pages = false;  // whether the server has fossil's web pages of the repository
  std::optional<std::uint64_t> size = {};  // size of the body, if the client has declared it
  /// Reads the body of SIZE bytes and passes it to SINK in pieces. Also returns the errors from
  /// SINK.
  std::function<Result<void>(const std::function<Result<void>(std::string_view)>& sink,
                             std::size_t size)>
      read_body = {};
  sync::LoginGuard* logins = nullptr;  // not owned
  /// If set, the client acts as this user and has all rights, without a login.
  std::string_view trusted_user = {};
  /// Reports progress for the scoreboard. Optional.
  std::function<void(std::string_view user, std::string_view operation, std::string_view what)>
      on_progress = {};
};

struct QueueReply {
  int status = 200;
  std::string content_type = "application/json; charset=utf-8";
  std::string body;
  std::string headers;  // additional headers, each with its line end

  // For the scoreboard and the logs.
  std::string user;
  std::string operation;
  std::string failed_login;
  std::string error;
  bool is_fault = false;
};

class QueueEndpoint {
 public:
  /// Creates the endpoint. OPTIONS and FILES must outlive this object.
  QueueEndpoint(const changes::PoolOptions& options, base::FileSystem& files,
                const base::Clock& clock = base::system_clock())
      : options_(options), files_(files), clock_(clock) {}

  QueueReply answer(repository::Repository& repository, const QueueRequest& request) const;

 private:
  const changes::PoolOptions& options_;
  base::FileSystem& files_;
  const base::Clock& clock_;
};

}  // namespace quarry::worker
