// Asks quarry-replica to publish a repository, and waits for the answer in the event loop. The
// protocol is in control/publication.h, whose client blocks.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "quarry/base/event_handles.h"
#include "quarry/base/result.h"
#include "quarry/pages/pages.h"

namespace quarry::pages {

class Publication {
 public:
  using Done = std::function<void(const Result<void>&)>;

  /// Asks the process at REPLICA to publish the repository NAME of POOL. Calls DONE once, but not
  /// from the constructor. DONE must not destroy this object.
  Publication(event_base* base, const ReplicaSocket& replica, std::string_view pool,
              std::string_view name, Done done);
  Publication(const Publication&) = delete;
  Publication& operator=(const Publication&) = delete;

 private:
  void connect();
  void on_input();
  void finish(const Result<void>& result);

  event_base* base_;
  std::string path_;
  std::string question_;
  Done done_;
  bool is_done_ = false;
  base::Event deadline_;
  base::Event start_;
  base::BufferEventPtr connection_;
};

}  // namespace quarry::pages
