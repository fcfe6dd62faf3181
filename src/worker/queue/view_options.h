// Parses a query that selects a part of a queue.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/queue_view.h"

namespace quarry::worker {

/// Returns the options in the parameters limit, waiting, over, branch, state and after of QUERY.
/// Errors: kInvalid.
Result<changes::ViewOptions> view_options_of(std::string_view query);

/// Returns QUERY with AFTER as the start of the next page. Adds STATE unless it is "".
std::string query_with(std::string_view query, std::string_view state, std::string_view after);

}  // namespace quarry::worker
