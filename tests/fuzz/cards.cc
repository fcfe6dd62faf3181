// Input: a sync body, which is read both as plain cards and as compressed cards.
#include <cstdint>
#include <string>
#include <string_view>

#include "cards/body.h"
#include "cards/card_reader.h"
#include "require.h"

namespace {

constexpr std::size_t kMaxBody = std::size_t{1} << 20;

/// Returns whether INNER points into OUTER.
bool lies_within(std::string_view inner, std::string_view outer) {
  return inner.empty() || (inner.data() >= outer.data() &&
                           inner.data() + inner.size() <= outer.data() + outer.size());
}

void read_cards(std::string_view body) {
  quarry::sync::CardReader reader(body, {.max_cards = 1000, .max_line = 4096});
  std::size_t left = body.size() + 1;
  while (true) {
    const auto more = reader.next();
    if (!more) {
      REQUIRE(!more.error().message.empty());
      return;
    }
    if (!*more) return;
    REQUIRE(reader.size() >= 1 && reader.size() <= quarry::sync::CardReader::kMaxWords);
    for (std::size_t i = 0; i < reader.size(); ++i) {
      REQUIRE(!reader[i].empty() && lies_within(reader[i], body));
    }
    REQUIRE(reader[reader.size()].empty());
    REQUIRE(lies_within(reader.payload(), reader.rest()));
    REQUIRE(lies_within(reader.rest(), body) && reader.rest().size() < left);
    left = reader.rest().size();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_cards(bytes);
  std::string storage;
  const auto cards =
      quarry::sync::decode_body(quarry::sync::BodyFormat::kCompressed, bytes, kMaxBody, storage);
  if (cards) read_cards(*cards);
  return 0;
}
