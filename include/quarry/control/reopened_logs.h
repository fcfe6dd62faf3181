// Passes logs that the master has reopened (SIGUSR1) to its children, which might not be allowed to
// open the files themselves.
//
// The master sends the descriptors over the child's channel, and then sends SIGUSR1. A message is
// one byte with the descriptor of the error log and, if the service has an access log, the
// descriptor of the access log. Only children that are forked without exec get such messages.
#pragma once

#include "quarry/base/access_log.h"
#include "quarry/control/channel.h"

namespace quarry::control {

/// Sends the logs of this process to CHILD. ACCESS_LOG can be null. Returns false if this end of
/// CHILD is closed, or if the child does not read its messages. Returns true for an exiting child,
/// which no longer needs the logs.
bool send_logs(const Channel& child, const base::AccessLog* access_log);
/// Replaces the logs of this process with the latest logs that MASTER has sent. ACCESS_LOG can be
/// null. Errors are logged.
void take_logs(const Channel& master, base::AccessLog* access_log);

}  // namespace quarry::control
