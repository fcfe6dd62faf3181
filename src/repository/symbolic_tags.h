// The names of branches and releases that artifacts have.
#pragma once

#include <string>
#include <vector>

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

/// Those of the artifact RID, at most MOST of them. Throws SqliteError.
std::vector<std::string> symbolic_tags(Database& database, Rid rid, std::size_t most);

}  // namespace quarry::repository
