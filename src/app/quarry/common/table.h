// Tables for a terminal, and short forms of numbers and times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/time.h"

namespace quarry::app {

/// Cells may contain any bytes: control characters are escaped, and long cells are cut.
class Table {
 public:
  /// A head that begins with '>' makes a column right-aligned.
  explicit Table(std::vector<std::string> heads);
  /// Adds a row with one cell for each head.
  void add(std::vector<std::string> cells);
  /// The lines, without newlines and trailing spaces.
  std::vector<std::string> lines() const;

 private:
  std::vector<bool> is_figure_;
  std::vector<std::vector<std::string>> rows_;
};

/// A number in three or four characters: "0", "12", "1.2K", "34M".
std::string short_amount(double amount);
/// "350us", "12.3ms", "4.5s", "3m20s", "5h10m", "4d3h".
std::string short_time(std::uint64_t micros);
/// The time since TIME in the format of short_time; "-" without a TIME.
std::string age(const std::optional<base::UnixMillis>& time);

}  // namespace quarry::app
