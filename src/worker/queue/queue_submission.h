// A change set that somebody sends: from the bytes of a request to a tarball in the queue's folders,
// which somebody else is to look at.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"

namespace quarry::worker {

using Take = std::function<base::Result<void>(std::string_view bytes)>;

struct Sending {
  changes::MoveType type = changes::MoveType::kDevelopment;
  std::string submitter;
  std::string capabilities;
  std::string address;
  base::UnixMillis time;
  /// Hands all bytes of the tarball to what it is given, in their order.
  std::function<base::Result<void>(const Take& take)> read;
  /// Whether they are what was signed, for the first time. Nothing is submitted where this is an
  /// error.
  std::function<base::Result<void>()> confirm;
};

/// Makes the queue's folders where one of them is missing. Several may do so at once.
base::Result<void> make_folders(changes::Directories& directories);

/// Submits it, under the name that is returned, and tells the queue. Errors: those of SENDING and of
/// files; nothing is left of it then.
base::Result<changes::ChangeSetName> submit(changes::Directories& directories,
                                            const Sending& sending);

}  // namespace quarry::worker
