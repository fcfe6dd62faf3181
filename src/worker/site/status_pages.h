// The pages about the pool itself: pm.status_path and ping.path, with PHP-FPM's answers, and the
// operator's live page (quarry/pages/live_page.h). A page exists only if its path is configured.
//
// The whole path is compared, so a single rule in the web server (`location = /status`) is enough
// to protect a page.
#pragma once

#include <optional>

#include "fastcgi/request.h"
#include "quarry/base/listen_queue.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/worker/worker_options.h"

namespace quarry::worker {

class StatusPages {
 public:
  /// Creates the pages. OPTIONS and BOARD, the pool's scoreboard, must outlive this object.
  StatusPages(const StatusOptions& options, const scoreboard::Board& board,
              const base::ListenQueue& queue)
      : options_(options), board_(board), queue_(queue) {}

  /// Returns whether REQUEST is for one of the pages.
  bool is_one(const Request& request) const;
  /// Returns the reply, or nullopt if REQUEST is for another page.
  std::optional<Reply> answer(const Request& request, scoreboard::Slot& slot) const;

 private:
  Reply status(const Request& request) const;
  Reply ping(const Request& request) const;

  const StatusOptions& options_;
  const scoreboard::Board& board_;
  base::ListenQueue queue_;
};

/// A handler that serves only these pages.
class StatusServer : public Handler {
 public:
  StatusServer(const StatusOptions& options, const scoreboard::Board& board,
               const base::ListenQueue& queue)
      : pages_(options, board, queue) {}
  Reply answer(const Request& request, BodyReader& body, scoreboard::Slot& slot) override;

 private:
  StatusPages pages_;
};

}  // namespace quarry::worker
