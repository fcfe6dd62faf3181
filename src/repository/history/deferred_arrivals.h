// What is put by until it can be told: the table fx_quarry_untold (arrivals.h).
#pragma once

#include <vector>

#include "quarry/repository/rid.h"
#include "repository_state.h"

namespace quarry::repository {

/// Adds the phantoms that are not in the table. Throws SqliteError.
void add_phantoms(Database& database, std::vector<Rid>& to);

}  // namespace quarry::repository
