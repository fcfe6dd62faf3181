// Determines which part of a queue a query asks for.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/queue_view.h"

namespace quarry::worker {

/// Returns the options in the parameters limit, waiting, over, branch, state and after of QUERY.
/// Errors: kInvalid.
base::Result<changes::ViewOptions> view_options_of(std::string_view query);

/// Returns QUERY with AFTER as the position to continue from, and with STATE unless that is "".
std::string query_with(std::string_view query, std::string_view state, std::string_view after);

}  // namespace quarry::worker
