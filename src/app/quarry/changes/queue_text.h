// A queue and its change sets as text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "quarry/changes/queue_view.h"

namespace quarry::app {

/// One line a group of stages, and the branches that are frozen.
std::string status_text(const changes::QueueView& view, const std::vector<std::string>& frozen);
std::string list_text(const changes::QueueView& view);
/// How to see what that has left out; "": nothing.
std::string more_text(const changes::QueueView& view);
std::string change_set_text(const changes::JobView& view);
/// The history alone.
std::string log_text(const changes::JobView& view);

}  // namespace quarry::app
