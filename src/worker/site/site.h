// The endpoints of a pool's repositories (quarry/worker/endpoint.h), and the pages about the pool
// (status_pages.h) under pm.status_path and ping.path.
#pragma once

#include <optional>
#include <string>

#include "background.h"
#include "fastcgi/request.h"
#include "pool_checkpoint_barrier.h"
#include "quarry/base/listen_queue.h"
#include "quarry/control/publication.h"
#include "quarry/pages/repository_index.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/sync/request.h"
#include "quarry/worker/endpoint.h"
#include "quarry/worker/worker_options.h"
#include "repository_cache.h"
#include "status_pages.h"

namespace quarry::worker {

class Site : public Handler {
 public:
  /// Creates the site. OPTIONS, BOARD and MASTER must outlive this object. QUEUE is the queue of
  /// the pool's listening socket.
  Site(const WorkerOptions& options, const scoreboard::Board& board, const base::ListenQueue& queue,
       const control::Channel& master);

  Reply answer(const Request& request, BodyReader& body, scoreboard::Slot& slot) override;
  http::ErrorPlace place_of(const Request& request) const override;
  bool may_pass_on() const override { return options_.pages_passing >= 0; }
  /// Passes requests for pages (is_page()) to the pages process. If that process is overloaded,
  /// answer() sends an error to the client.
  bool pass_on(const Request& request, int connection) override;
  /// Checkpoints a write-ahead log that has become too long. Requests background work that is due.
  void work_after_reply() override;
  /// Returns whether a write-ahead log is not empty. Logs are checkpointed while nobody writes.
  bool has_idle_work() const override;
  void work_idly() override;

 private:
  /// Returns the target of PATH. Errors: the same as for locate().
  Result<Target> resolve(std::string_view path);
  Result<repository::Repository*> open(const Target& target);

  repository::OpenOptions open_options();
  Reply answer_sync(const Request& request, const Target& target, BodyReader& reader,
                    scoreboard::Slot& slot);
  Reply answer_queue(const Request& request, const Target& target, BodyReader& body,
                     scoreboard::Slot& slot);
  Reply describe(const Request& request, const Target& target);
  /// Returns the list of repositories in the served folder or in a subfolder. Returns nullopt if
  /// the served folder does not have a list, or if the subfolder does not contain repositories that
  /// everybody can see.
  std::optional<Reply> show_index(const Request& request);

  const WorkerOptions& options_;
  const scoreboard::Board& board_;
  StatusPages status_;
  PoolCheckpointBarrier checkpoint_barrier_;
  scoreboard::Slot* slot_ = nullptr;  // slot of the last request
  RepositoryCache cache_;
  pages::RepositoryIndex index_;
  Background background_;
  control::Publication locks_publication_;  // with a short timeout
  /// The repository of the last request, owned by the cache. Null after work_after_reply().
  repository::Repository* asked_ = nullptr;
  std::string asked_name_;
  bool has_brought_ = false;  // whether the request has stored new data
};

}  // namespace quarry::worker
