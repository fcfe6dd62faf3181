// A queue that lies in folders here.
#pragma once

#include <memory>
#include <string>

#include "queue_place.h"

namespace quarry::app {

/// The queue of REPOSITORY, a file. As root, this process becomes its owner. Errors: kNotFound: there
/// is no queue; kDenied.
base::Result<std::unique_ptr<QueuePlace>> local_queue(const QueueArguments& arguments,
                                                      const std::string& repository);

/// Who runs this program, as histories name him.
std::string own_login();

}  // namespace quarry::app
