// An event as people read it.
#pragma once

#include <string>

#include "quarry/event/event.h"

namespace quarry::courier {

/// One line: "[project] check-in by ann: what she said".
std::string subject_of(const event::Event& event);
/// Lines that say everything that there is to say of it.
std::string text_of(const event::Event& event);

}  // namespace quarry::courier
