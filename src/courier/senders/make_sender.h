// The way for a destination's type.
#pragma once

#include <memory>

#include "quarry/courier/options.h"
#include "sender.h"

namespace quarry::courier {

/// Errors: what it needs cannot be read; it may be there later.
base::Result<std::unique_ptr<Sender>> make_sender(const CourierOptions& courier,
                                                  const DestinationOptions& destination,
                                                  Interrupted is_interrupted);

}  // namespace quarry::courier
