// The symbolic tags of artifacts: their branches and releases.
#pragma once

#include <string>
#include <vector>

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

/// At most LIMIT symbolic tags of the artifact RID. Throws SqliteError.
std::vector<std::string> symbolic_tags(Database& database, Rid rid, std::size_t limit);

}  // namespace quarry::repository
