#include "table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "quarry/base/escape.h"

namespace quarry::app {
namespace {

constexpr std::size_t kMaxCell = 120;
constexpr std::string_view kGap = "  ";

/// Returns the width of TEXT in characters. Wide characters count as one column.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

Table::Table(std::vector<std::string> heads) {
  for (std::string& head : heads) {
    is_figure_.push_back(head.starts_with('>'));
    if (is_figure_.back()) head.erase(0, 1);
  }
  add(std::move(heads));
}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = base::printable_message(cell, kMaxCell);
  cells.resize(is_figure_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::string> Table::lines() const {
  std::vector<std::size_t> widths(is_figure_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += kGap;
      const std::string space(widths[i] - width_of(row[i]), ' ');
      line += is_figure_[i] ? space + row[i] : row[i] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string short_amount(double amount) {
  constexpr auto kUnits = std::to_array<std::string_view>({"", "K", "M", "G", "T", "P"});
  std::size_t unit = 0;
  while (amount >= 999.5 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  const bool is_small = amount > 0 && amount < 9.95;
  const bool is_whole = unit == 0 && amount == static_cast<double>(static_cast<int>(amount));
  return is_small && !is_whole ? fmt::format("{:.1f}{}", amount, kUnits[unit])
                               : fmt::format("{:.0f}{}", amount, kUnits[unit]);
}

std::string short_time(std::uint64_t micros) {
  const std::uint64_t seconds = micros / 1000000;
  const std::uint64_t minutes = seconds / 60;
  const std::uint64_t hours = minutes / 60;
  if (micros < 1000) return fmt::format("{}us", micros);
  if (seconds == 0) return fmt::format("{:.1f}ms", static_cast<double>(micros) / 1e3);
  if (minutes == 0) return fmt::format("{:.1f}s", static_cast<double>(micros) / 1e6);
  if (hours == 0) return fmt::format("{}m{}s", minutes, seconds % 60);
  if (hours < 24) return fmt::format("{}h{}m", hours, minutes % 60);
  return fmt::format("{}d{}h", hours / 24, hours % 24);
}

std::string age(const std::optional<base::UnixMillis>& time) {
  if (!time) return "-";
  const std::int64_t past = base::system_clock().now().value - time->value;
  return short_time(static_cast<std::uint64_t>(std::max<std::int64_t>(past, 0)) * 1000);
}

}  // namespace quarry::app
