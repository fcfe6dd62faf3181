// What `quarry spool` does with the files of a stream: its status with all subscriptions, its
// messages, and what a subscription has given up (--dead).
#pragma once

#include "quarry/base/result.h"
#include "quarry/spool/stream.h"
#include "spool_commands.h"

namespace quarry::app {

inline spool::SpoolLocation place_of(const SpoolArguments& arguments) {
  return {arguments.folder, arguments.filename};
}

// Errors: kNotFound (no such subscription), what the disk says; of the last two kInvalid (without
// --dead) and kBusy (a process has the stream), too.
base::Result<void> show_stream_status(const SpoolArguments& arguments);
base::Result<void> list_stream(const SpoolArguments& arguments);
base::Result<void> export_stream(const SpoolArguments& arguments);
base::Result<void> replay_stream(const SpoolArguments& arguments);
base::Result<void> purge_stream(const SpoolArguments& arguments);

}  // namespace quarry::app
