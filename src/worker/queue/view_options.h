// Which part of a queue a query asks for.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/queue_view.h"

namespace quarry::worker {

/// QUERY's limit, waiting, over, branch, state and after. Errors: kInvalid.
base::Result<changes::ViewOptions> view_options_of(std::string_view query);

/// The query for what QUERY asks for with AFTER as where it goes on from, and with STATE where that is
/// not "".
std::string query_with(std::string_view query, std::string_view state, std::string_view after);

}  // namespace quarry::worker
