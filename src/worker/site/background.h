// Background work after a request: if the repository's backoffice is due, the worker asks the
// master to run it; and if the request has brought something new, to sync with each of the
// repository's peers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "quarry/control/channel.h"
#include "quarry/repository/repository.h"
#include "quarry/worker/worker_options.h"

namespace quarry::worker {

class Background {
 public:
  /// Both must outlive it.
  Background(const WorkerOptions& options, const control::Channel& master)
      : options_(options), master_(master) {}

  /// Call after a request for the repository called NAME in its folder ("": the only one) was
  /// answered. HAS_BROUGHT: it has stored something. No Snapshot may be open.
  void after_request(repository::Repository& repository, std::string_view name, bool has_brought);

 private:
  void request_backoffice(repository::Repository& repository, std::string_view name);

  const WorkerOptions& options_;
  const control::Channel& master_;
  /// By path: the time before which no work is due, whatever is requested (seconds since 1970).
  std::map<std::string, std::int64_t, std::less<>> quiet_until_;
};

}  // namespace quarry::worker
