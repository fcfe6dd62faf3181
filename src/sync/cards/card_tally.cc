#include "card_tally.h"

#include <fmt/core.h>

#include <bit>

namespace quarry::sync {
namespace {

// Number of cards between two reports. A report takes about a microsecond, much longer than reading
// a short card.
constexpr std::uint64_t kReportInterval = 1024;
constexpr std::uint64_t kReportIntervalOnChange = 32;

}  // namespace

bool CardTally::card(CardType type) {
  ++total_;
  ++counts_[static_cast<std::size_t>(type)];
  const bool is_change = type != last_;
  last_ = type;
  const bool is_due = std::has_single_bit(total_) ||
                      total_ - reported_ >= (is_change ? kReportIntervalOnChange : kReportInterval);
  if (is_due) reported_ = total_;
  return is_due;
}

std::string CardTally::in(std::string_view phase) const {
  std::string text(phase);
  std::string_view separator = ": ";
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (counts_[kind] == 0) continue;
    text += fmt::format("{}{} {}", separator, counts_[kind], name_of(static_cast<CardType>(kind)));
    separator = ", ";
  }
  return text;
}

}  // namespace quarry::sync
