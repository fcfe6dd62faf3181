#include "file_card.h"

#include "quarry/artifact/structural.h"
#include "quarry/base/escape.h"
#include "quarry/base/number.h"

namespace quarry::sync {
namespace {

using artifact::HashName;

bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  while (!text.empty()) {
    // Unlike utf8_sequence(), accept U+0080 to U+009F.
    const bool is_c1 = text.size() > 1 && byte(0) == 0xC2 && (byte(1) & 0xC0) == 0x80;
    const std::size_t length = byte(0) < 0x80 ? 1 : is_c1 ? 2 : base::utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

Result<repository::Arrival> arrival_of(const CardReader& card, bool is_private) {
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

bool is_unversioned_name(std::string_view name) {
  return artifact::is_simple_path(name) && !name.contains('\\') && !name.contains('\0') &&
         is_utf8(name);
}

std::optional<std::int64_t> unversioned_time(std::string_view word) {
  return word.starts_with('-') ? std::nullopt : base::parse_number<std::int64_t>(word);
}

bool is_unversioned_hash(std::string_view word) {
  return word == kDeletedHash || HashName::parse(word).has_value();
}

Result<repository::UnversionedArrival> unversioned_arrival_of(const CardReader& card) {
  const auto mtime = unversioned_time(card[2]);
  if (!is_unversioned_name(card[1]) || !mtime || !is_unversioned_hash(card[3]) ||
      !base::parse_number<std::uint64_t>(card[4])) {
    return std::unexpected(card.misshapen());
  }
  repository::UnversionedArrival arrival{
      .name = card[1], .mtime = *mtime, .hash = card[3], .content = std::nullopt};
  if (card[3] != kDeletedHash && card.has_payload()) arrival.content = card.payload();
  return arrival;
}

}  // namespace quarry::sync
