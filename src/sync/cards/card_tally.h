// Counts the cards of a session and decides when to report its progress to the scoreboard. Reports
// are so rare that they take almost no time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "card_reader.h"

namespace quarry::sync {

class CardTally {
 public:
  /// Counts a card. Returns whether a report is due.
  bool card(CardType type);
  /// Returns PHASE with the counts, for example "reading cards: 120 file, 3 igot".
  std::string in(std::string_view phase) const;

 private:
  static constexpr std::size_t kKinds = static_cast<std::size_t>(CardType::kUvgimme) + 1;
  std::array<std::uint64_t, kKinds> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t reported_ = 0;  // total at the last report
  CardType last_ = CardType::kPragma;
};

}  // namespace quarry::sync
