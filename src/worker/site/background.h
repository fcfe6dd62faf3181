// What a request leaves to be done when nobody waits: after it, the worker looks whether the
// repository's background work is due, and asks the master for it; and for a sync with each of the
// repository's peers, where it has brought something that they have not had.
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

  /// A request for REPOSITORY, which is called NAME in its folder ("" where it is served alone), has
  /// been answered; HAS_BROUGHT something. No Snapshot may be alive.
  void after_request(repository::Repository& repository, std::string_view name, bool has_brought);

 private:
  void request_backoffice(repository::Repository& repository, std::string_view name);

  const WorkerOptions& options_;
  const control::Channel& master_;
  /// By path: until when (in seconds since 1970) nothing is due, whatever is asked.
  std::map<std::string, std::int64_t, std::less<>> quiet_until_;
};

}  // namespace quarry::worker
