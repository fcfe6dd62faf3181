#include "file_card.h"

#include "quarry/base/number.h"

namespace quarry::sync {

using artifact::HashName;

base::Result<repository::Arrival> arrival_of(const CardReader& card, bool is_private) {
  const bool is_compressed = card.type() == CardType::kCfile;
  const std::size_t plain_words = is_compressed ? 4 : 3;
  const auto name = HashName::parse(card[1]);
  if (!name) return std::unexpected(card.misshapen());
  repository::Arrival arrival{.name = *name,
                              .payload = card.payload(),
                              .delta_source = std::nullopt,
                              .is_compressed = is_compressed,
                              .declared_size = std::nullopt,
                              .is_private = is_private};
  if (card.size() > plain_words) {
    arrival.delta_source = HashName::parse(card[2]);
    if (!arrival.delta_source) return std::unexpected(card.misshapen());
  }
  if (is_compressed) {
    arrival.declared_size = base::parse_number<std::uint64_t>(card[card.size() - 2]);
    if (!arrival.declared_size) return std::unexpected(card.misshapen());
  }
  return arrival;
}

}  // namespace quarry::sync
