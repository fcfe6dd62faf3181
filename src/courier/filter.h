// Decides which events a destination gets.
#pragma once

#include "quarry/courier/options.h"
#include "quarry/event/event.h"

namespace quarry::courier {

bool is_for(const DestinationOptions& destination, const event::Event& event);

}  // namespace quarry::courier
