// The rows of the derived tables, without row ids that a recomputation may change. They can be
// compared between two files with the same artifacts, or before and after a rebuild.
//
// A row is rendered as text for people, with names instead of ids. That is slower than comparing
// the columns, which is enough if both sides have the same ids.
#pragma once

#include <string>
#include <vector>

#include "store/database.h"

namespace quarry::repository {

/// A table, and how to compare and render its rows.
struct DerivedRows {
  const char* table;
  std::string columns;    // the compared columns
  std::string text;       // an expression over these columns
  std::string condition;  // rows to compare; all if empty
  std::string key;        // two columns or constants: the key for OrderDependence

  /// A SELECT of the columns of the rows to compare.
  std::string select_columns() const;
};

/// The derived tables of DATABASE. Throws SqliteError.
std::vector<DerivedRows> derived_rows(Database& database);

}  // namespace quarry::repository
