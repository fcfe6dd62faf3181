// What a pool serves: which repository a path means, and the endpoints of a repository.
//
//   POST, content type of a sync   the sync protocol, whatever follows the name
//   GET  [/NAME]                   one line with the URL to clone
//   GET  pm.status_path, ping.path  see status_pages.h
#pragma once

#include <optional>

#include "pool_log_gate.h"
#include "quarry/base/listen_queue.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/worker/worker.h"
#include "repository_cache.h"
#include "request.h"
#include "status_pages.h"

namespace quarry::worker {

class Site : public Handler {
 public:
  /// OPTIONS and BOARD must outlive it. QUEUE is that of the pool's listening socket.
  Site(const WorkerOptions& options, const scoreboard::Board& board,
       const base::ListenQueue& queue);

  Reply answer(const Request& request, const BodyReader& read_body,
               scoreboard::Slot& slot) override;
  /// A checkpoint of what was written where the log beside the repository has become too long.
  void work_after_reply() override;
  /// A checkpoint of what was written, so that the log beside a repository is empty when nobody
  /// writes.
  bool has_idle_work() const override;
  void work_idly() override;

 private:
  /// What a path means.
  struct Target {
    std::optional<RepositoryName> name;  // nothing: the pool's only repository
    std::string_view endpoint;           // the reserved word after it, or ""
    std::string_view rest;               // all that follows the name
  };
  /// Errors: those of locate().
  base::Result<Target> resolve(std::string_view path);
  base::Result<repository::Repository*> open(const Target& target);

  repository::OpenOptions open_options();
  Reply answer_sync(const Request& request, const Target& target, const BodyReader& read_body,
                    scoreboard::Slot& slot);
  static Reply reply_of(sync::Reply answer, const repository::Repository& repository,
                        std::size_t body_size);
  Reply answer_get(const Request& request, const Target& target);

  const WorkerOptions& options_;
  const scoreboard::Board& board_;
  StatusPages status_;
  PoolLogGate log_gate_;
  scoreboard::Slot* slot_ = nullptr;  // of the last request
  RepositoryCache cache_;
};

}  // namespace quarry::worker
