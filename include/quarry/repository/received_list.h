// The input of fossil's `after-receive` hooks: one line for each artifact that arrived.
//
//   HASH check-in to BRANCH by USER on 2026-03-04 05:06
//   HASH file NAME
//   HASH tag 0123456789abcdef          the first digits of the tagged artifact
//   HASH wiki "TITLE"                  ticket ID · event ID · attachment-control for NAME ·
//                                      attachment NAME · forum-post ROOT · forum-reply-to ROOT
//   HASH cluster                       for all other artifacts: HASH unknown
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "quarry/base/result.h"

namespace quarry::repository {

class Repository;

class ReceivedList {
 public:
  /// REPOSITORY is not owned.
  explicit ReceivedList(Repository& repository) : repository_(repository) {}

  // Use these functions inside a Snapshot or a Receipt. Errors: kIo, kCorrupt.

  /// Returns the number (rcvfrom.rcvid) of the last request that brought an artifact, or 0 if there
  /// is none.
  Result<std::int64_t> last_receipt();
  /// Returns whether this host received at least one of the requests with a number above AFTER and up
  /// to UP_TO from a client. The others came from other hosts through the stream.
  Result<bool> has_own(std::int64_t after, std::int64_t up_to);
  /// Returns the first argument of lines() for the hook's next run. AFTER is the last request that
  /// was reported. Requests that are more than a day older than the newest request are skipped. If
  /// AFTER is 0, nothing has been reported yet. Then the first remaining request is skipped too, as
  /// in fossil, because it can be the creation of the repository.
  Result<std::int64_t> first_to_report(std::int64_t after);
  /// Returns the lines for the artifacts of all requests with a number above AFTER and up to UP_TO,
  /// sorted by row id. If the lines exceed MAX_BYTES, the rest is replaced by a line "...".
  /// Includes private artifacts, because only administrators of the project can install the hooks
  /// that get the lines. Leaves out artifacts that came from another host, which runs its own hooks.
  /// Call Arrivals::prepare() first. Error: kInvalid.
  Result<std::string> lines(std::int64_t after, std::int64_t up_to, std::size_t max_bytes);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
