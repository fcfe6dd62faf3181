// The rows of the derived tables, without row ids that a recomputation can change. These rows can
// be compared between two files with the same artifacts, or before and after a rebuild.
//
// Rows can be rendered as text for people, with names instead of ids. If the ids are the same on
// both sides of a comparison, the columns are compared without rendering, which is faster.
#pragma once

#include <string>
#include <vector>

#include "store/database.h"

namespace quarry::repository {

/// A table, and the SQL for comparing and rendering its rows.
struct DerivedRows {
  const char* table;
  std::string columns;    // the columns to compare
  std::string text;       // an expression over these columns: the row as text
  std::string condition;  // condition for the rows to compare; empty for all rows
  std::string key;        // two columns or constants: the key for OrderDependence

  /// Returns the SELECT statement for the columns of the rows to compare.
  std::string select_columns() const;
};

/// Returns the derived tables of DATABASE. Throws SqliteError.
std::vector<DerivedRows> derived_rows(Database& database);

}  // namespace quarry::repository
