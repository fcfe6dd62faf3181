// The complete configuration of a courier.
#pragma once

#include <vector>

#include "quarry/courier/options.h"

namespace quarry::courier {

struct CourierConfig {
  CourierOptions options;
  std::vector<DestinationOptions> destinations;
};

}  // namespace quarry::courier
