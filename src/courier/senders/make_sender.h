// Creates the sender for a destination's type.
#pragma once

#include <memory>

#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

/// Errors: a file that it needs cannot be read; a later call may succeed.
base::Result<std::unique_ptr<Sender>> make_sender(const CourierOptions& courier,
                                                  const DestinationOptions& destination,
                                                  Interrupted is_interrupted);

}  // namespace quarry::courier
