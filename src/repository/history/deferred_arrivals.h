// Artifacts that cannot be reported yet: the table fx_quarry_untold (arrivals.h).
#pragma once

#include <vector>

#include "quarry/repository/rid.h"
#include "repository_state.h"

namespace quarry::repository {

/// Adds phantoms that are missing in the table to TO. Throws SqliteError.
void add_phantoms(Database& database, std::vector<Rid>& to);

}  // namespace quarry::repository
