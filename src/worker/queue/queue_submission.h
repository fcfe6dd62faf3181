// Stores a submitted change set: from the bytes of a request to a tarball in the queue's folders,
// which another process then validates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"

namespace quarry::worker {

using ByteSink = std::function<base::Result<void>(std::string_view bytes)>;

struct IncomingChangeSet {
  changes::MoveType type = changes::MoveType::kDevelopment;
  std::string submitter;
  std::string capabilities;
  std::string address;
  base::UnixMillis time;
  /// Passes all bytes of the tarball to its argument, in order.
  std::function<base::Result<void>(const ByteSink& sink)> read;
  /// Whether the bytes match the signature and this is not a replay. On an error nothing is
  /// submitted.
  std::function<base::Result<void>()> confirm;
};

/// Makes missing folders of the queue. Several processes may do so at the same time.
base::Result<void> make_folders(changes::Directories& directories);

/// Submits it, returns its name and notifies the queue. Errors: those of INCOMING and of the file
/// system; then nothing is left behind.
base::Result<changes::ChangeSetName> submit(changes::Directories& directories,
                                            const IncomingChangeSet& incoming);

}  // namespace quarry::worker
