// The rows of the derived tables as text, without row numbers that a recomputation may change: two
// files that hold the same artifacts, or one before and after a rebuild, can be compared by them.
#pragma once

#include <string>
#include <vector>

#include "database.h"

namespace quarry::repository {

/// A table and how to tell its rows.
struct DerivedRows {
  const char* table;
  std::string rows;  // a SELECT of one text column
};

/// Those of the derived tables that DATABASE has. Throws SqliteError.
std::vector<DerivedRows> derived_rows(Database& database);

}  // namespace quarry::repository
