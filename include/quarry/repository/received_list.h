// What fossil's `after-receive` hooks read: what came, a line for each artifact.
//
//   HASH check-in to BRANCH by USER on 2026-03-04 05:06
//   HASH file NAME
//   HASH tag 0123456789abcdef          the beginning of what it tags
//   HASH wiki "TITLE"                  ticket ID · event ID · attachment-control for NAME ·
//                                      attachment NAME · forum-post ROOT · forum-reply-to ROOT
//   HASH cluster                       unknown: all else
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

  // Inside a Snapshot or a Receipt. Errors of all: kIo, kCorrupt.

  /// The number of the last request that brought anything; 0: none has.
  base::Result<std::int64_t> last_receipt();
  /// The number from which a hook begins that was told of those up to AFTER: no request that came
  /// more than a day before the last one is told of any more. With 0, where nothing was ever told,
  /// that is after the first of them, as fossil has it: a new repository does not begin with itself.
  base::Result<std::int64_t> first_to_tell(std::int64_t after);
  /// The lines of what came after the request AFTER, up to UP_TO, in the order of their rows; MOST
  /// bytes at most, then a line "...". What is private is among them: hooks are the project's own.
  /// Needs Arrivals::prepare(). Error: kInvalid.
  base::Result<std::string> lines(std::int64_t after, std::int64_t up_to, std::size_t most);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
