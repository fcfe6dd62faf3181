// Formats tables for a terminal, and numbers and times in short forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/time.h"

namespace quarry::app {

/// A table. Cells can contain any bytes: control characters are escaped, and long cells are
/// truncated.
class Table {
 public:
  /// Creates a table with a column for each of HEADS. A column whose head begins with '>' is
  /// right-aligned.
  explicit Table(std::vector<std::string> heads);
  /// Adds a row with one cell for each head.
  void add(std::vector<std::string> cells);
  /// Returns the lines of the table, without newlines and trailing spaces.
  std::vector<std::string> lines() const;

 private:
  std::vector<bool> is_figure_;
  std::vector<std::vector<std::string>> rows_;
};

/// Formats AMOUNT in at most four characters, such as "0", "12", "1.2K" or "34M".
std::string short_amount(double amount);
/// Formats MICROS in a form such as "350us", "12.3ms", "4.5s", "3m20s", "5h10m" or "4d3h".
std::string short_time(std::uint64_t micros);
/// Formats the duration since TIME like short_time(). Returns "-" for nullopt.
std::string age(const std::optional<base::UnixMillis>& time);

}  // namespace quarry::app
