// Formats events as text for people.
#pragma once

#include <string>

#include "quarry/event/event.h"

namespace quarry::courier {

/// One line: "[project] check-in by ann: comment".
std::string subject_of(const event::Event& event);
/// All details of the event, as lines.
std::string text_of(const event::Event& event);

}  // namespace quarry::courier
