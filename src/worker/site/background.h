// Requests background work after a request. If the repository's backoffice is due, the worker asks
// the master to run it. After a request that has stored new data, the worker also asks the master
// to send the repository's events, and to sync with each of the repository's peers.
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
  /// Creates the object. OPTIONS and MASTER must outlive this object.
  Background(const WorkerOptions& options, const control::Channel& master)
      : options_(options), master_(master) {}

  /// Called after a request for a repository was answered. NAME is the repository's name in its
  /// folder, or "" if the pool serves a single repository. HAS_BROUGHT is true if the request has
  /// stored new data. The caller must not hold a Snapshot.
  void after_request(repository::Repository& repository, std::string_view name, bool has_brought);

 private:
  void request_backoffice(repository::Repository& repository, std::string_view name);

  const WorkerOptions& options_;
  const control::Channel& master_;
  /// Maps the path of a repository to the time before which its background work is never due, in
  /// seconds since 1970.
  std::map<std::string, std::int64_t, std::less<>> quiet_until_;
};

}  // namespace quarry::worker
