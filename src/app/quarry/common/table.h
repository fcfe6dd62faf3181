// Columns of text for a terminal, and figures as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/time.h"

namespace quarry::app {

/// Cells may hold anything: control characters, among them those that a terminal obeys, are escaped
/// and long ones are cut.
class Table {
 public:
  /// A HEAD that begins with '>' is of a column of figures, whose cells end below each other.
  explicit Table(std::vector<std::string> heads);
  /// As many CELLS as there are heads.
  void add(std::vector<std::string> cells);
  /// Each without its end, and without spaces at it.
  std::vector<std::string> lines() const;

 private:
  std::vector<bool> is_figure_;
  std::vector<std::vector<std::string>> rows_;
};

/// "0", "12", "1.2K", "34M": of three or four characters.
std::string short_amount(double amount);
/// "350us", "12.3ms", "4.5s", "3m20s", "5h10m", "4d3h".
std::string short_time(std::uint64_t micros);
/// How long ago TIME was, as short_time writes it; "-" without a TIME.
std::string age(const std::optional<base::UnixMillis>& time);

}  // namespace quarry::app
