// The rows of the derived tables, without row numbers that a recomputation may change: two files
// that hold the same artifacts, or one before and after a rebuild, can be compared by them.
//
// A row is told as a text for people, with names in the place of numbers. That takes longer than a
// comparison of the columns does, which is enough where both sides have the same numbers.
#pragma once

#include <string>
#include <vector>

#include "store/database.h"

namespace quarry::repository {

/// A table, and how to tell its rows.
struct DerivedRows {
  const char* table;
  std::string columns;    // what is compared
  std::string text;       // an expression of these columns
  std::string condition;  // which rows count, all if it is empty
  std::string key;        // two of these columns, or numbers: what OrderDependence knows rows by

  /// A SELECT of the columns of the rows that count.
  std::string select_columns() const;
  /// A SELECT of the text of rows as select_columns() gives them, which are in SOURCE: a table, or
  /// a SELECT in parentheses.
  std::string select_text(std::string_view source) const;
};

/// Those of the derived tables that DATABASE has. Throws SqliteError.
std::vector<DerivedRows> derived_rows(Database& database);

}  // namespace quarry::repository
