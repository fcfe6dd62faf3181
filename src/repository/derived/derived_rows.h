// The rows of the derived tables, without row ids that a recomputation may change. So the rows can
// be compared between two files with the same artifacts, or before and after a rebuild.
//
// Rows are rendered as text for people, with names instead of ids. That is slower than comparing
// the columns, which is enough if both sides have the same ids.
#pragma once

#include <string>
#include <vector>

#include "store/database.h"

namespace quarry::repository {

/// A table, and how to compare and render its rows.
struct DerivedRows {
  const char* table;
  std::string columns;    // the columns to compare
  std::string text;       // an expression over these columns
  std::string condition;  // condition for the rows to compare; empty for all rows
  std::string key;        // two columns or constants that form the key for OrderDependence

  /// A SELECT of these columns of the rows to compare.
  std::string select_columns() const;
};

/// The derived tables of DATABASE. Throws SqliteError.
std::vector<DerivedRows> derived_rows(Database& database);

}  // namespace quarry::repository
