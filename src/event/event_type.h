// Maps the name of a type to its record.
#pragma once

#include <optional>
#include <string_view>

#include "quarry/event/event.h"

namespace quarry::event {

/// An empty record of TYPE (with its kind, for an artifact); nullopt if there is no such type.
std::optional<Record> record_of_type(std::string_view type);

}  // namespace quarry::event
