// How far a session has come, for whoever looks at the scoreboard while it runs: counted at every
// card, told seldom enough to cost nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "card_reader.h"

namespace quarry::sync {

class CardTally {
 public:
  /// Counts a card. Whether it is time to tell: at the first cards, where the kind changes, and
  /// now and then.
  bool card(CardType type);
  /// PHASE with what was counted: "reading cards: 120 file, 3 igot".
  std::string in(std::string_view phase) const;

 private:
  static constexpr std::size_t kKinds = static_cast<std::size_t>(CardType::kUvgimme) + 1;
  std::array<std::uint64_t, kKinds> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t reported_ = 0;  // the total when it was told last
  CardType last_ = CardType::kPragma;
};

}  // namespace quarry::sync
