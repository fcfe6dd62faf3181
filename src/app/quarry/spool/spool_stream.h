// The `quarry spool` commands for a stream: its status with all subscriptions, its messages, and
// the dead letters of a subscription (--dead).
#pragma once

#include "quarry/base/result.h"
#include "quarry/spool/stream.h"
#include "spool_commands.h"

namespace quarry::app {

inline spool::SpoolLocation spool_of(const SpoolArguments& arguments) {
  return {arguments.folder, arguments.filename};
}

// Errors: kNotFound if there is no such subscription, and those of the disk; for the last two also
// kInvalid without --dead, and kBusy if another process uses the stream.
base::Result<void> show_stream_status(const SpoolArguments& arguments);
base::Result<void> list_stream(const SpoolArguments& arguments);
base::Result<void> export_stream(const SpoolArguments& arguments);
base::Result<void> replay_stream(const SpoolArguments& arguments);
base::Result<void> purge_stream(const SpoolArguments& arguments);

}  // namespace quarry::app
