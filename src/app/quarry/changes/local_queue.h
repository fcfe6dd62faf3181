// A queue in local folders.
#pragma once

#include <memory>
#include <string>

#include "queue_access.h"

namespace quarry::app {

/// Opens the queue of the repository file REPOSITORY. If run as root, the process changes to the
/// owner's user. Errors: kNotFound if there is no queue; kDenied.
base::Result<std::unique_ptr<QueueAccess>> local_queue(const QueueArguments& arguments,
                                                       const std::string& repository);

/// The login of the calling user, as recorded in histories.
std::string own_login();

}  // namespace quarry::app
