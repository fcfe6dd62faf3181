// A queue and its change sets as text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "quarry/changes/queue_view.h"

namespace quarry::app {

/// One line for each group of stages, then the frozen branches.
std::string status_text(const changes::QueueView& view, const std::vector<std::string>& frozen);
std::string list_text(const changes::QueueView& view);
/// How to list the change sets that list_text() left out; "" if there are none.
std::string more_text(const changes::QueueView& view);
std::string change_set_text(const changes::JobView& view);
/// Only the history.
std::string log_text(const changes::JobView& view);

}  // namespace quarry::app
