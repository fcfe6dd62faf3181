// The queue of change sets of a repository, for the workers of a pool and for `quarry http`:
//
//   GET  …/queue            the queue; GET …/queue/CSID: one change set. HTML, or JSON where the path
//                           ends in .json or the client accepts application/json
//   POST …/queue?type=DC    the body is the tarball of a change set (application/x-quarry-change-set),
//                           which goes to the disk as it comes: 202, and its name as JSON
//   POST …/queue/CSID/WORD  approve, hold, release, abandon or retry (application/x-quarry-action,
//                           with nothing in the body); ?text= says why, or is an approval's reference
//   POST …/queue/freeze     (or thaw) a branch: ?branch=
//   GET  …/queue/CSID.json?ask=why        what it waits for; ?ask=rollback: what would go with it
//
// For CSID its beginning is enough. Who may read the repository may look; all else wants a request
// signed as quarry/sync/signed_request.h has it, is taken once, and is for whom quarry/changes/rights.h
// allows it. The tarball is not opened here: the prequeue daemon does that, with less at stake.
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

/// Where in the queue a path leads: what follows the word `queue` in TARGET, without slashes around
/// it; nothing: not there.
std::optional<std::string_view> queue_path_of(const Target& target);
/// Whether CONTENT_TYPE is of what is posted to a queue.
bool is_queue_content_type(std::string_view content_type);

struct QueueRequest {
  std::string_view method = {};
  std::string_view target = {};  // as the client wrote it: path and query
  std::string_view path = {};    // of queue_path_of()
  std::string_view query = {};
  std::string_view content_type = {};
  std::string_view accept = {};
  std::string_view date = {};  // X-Quarry-Date
  std::string_view cookie = {};
  std::string_view remote_user = {};  // where the pool believes it
  std::string_view remote_address = {};
  /// How the repository is called, "" where it is alone.
  std::string_view name = {};
  std::optional<std::uint64_t> size = {};  // of the body; nothing: not said
  /// Reads the body, of so many bytes, in pieces. Errors: also those of what takes them.
  std::function<base::Result<void>(const std::function<base::Result<void>(std::string_view)>& sink,
                                   std::size_t size)>
      read_body = {};
  sync::LoginGuard* logins = nullptr;  // not owned
  /// Who asks may do everything, and is called this; "": he is who he shows to be.
  std::string_view trusted_user = {};
  /// Is told what is being done, for the scoreboard. May be empty.
  std::function<void(std::string_view user, std::string_view operation, std::string_view what)>
      on_progress = {};
};

struct QueueReply {
  int status = 200;
  std::string content_type = "application/json; charset=utf-8";
  std::string body;
  std::string headers;  // more of them, each with its line end

  // For the scoreboard and the logs.
  std::string user;
  std::string operation;
  std::string failed_login;
  std::string error;
  bool is_fault = false;
};

class QueueEndpoint {
 public:
  /// Both must outlive it.
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
