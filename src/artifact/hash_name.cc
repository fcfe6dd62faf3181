#include "quarry/artifact/hash_name.h"

#include <algorithm>
#include <cstring>

#include "hex_digest.h"

namespace quarry::artifact {
namespace {

constexpr DigestKind digest_kind(HashAlgorithm algorithm) {
  return algorithm == HashAlgorithm::kSha1 ? DigestKind::kSha1 : DigestKind::kSha3_256;
}

/// Returns whether all eight bytes are 0-9 or a-f. Checks them together, for speed: a clone
/// parses two hashes per artifact. If a byte is at least BOUND, byte + (0x80 - BOUND) has its top
/// bit set. Bytes above 0x7F are rejected.
constexpr bool is_lower_hex(std::uint64_t bytes) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  const auto is_below = [&](unsigned bound) { return ~(bytes + kEach * (0x80 - bound)); };
  const std::uint64_t is_digit = ~is_below('0') & is_below('9' + 1);
  const std::uint64_t is_letter = ~is_below('a') & is_below('f' + 1);
  return ((is_digit | is_letter) & ~bytes & kEach * 0x80) == kEach * 0x80;
}

bool all_lower_hex(std::string_view text) {
  bool all = true;
  for (std::size_t i = 0; i < text.size(); i += 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + i, sizeof bytes);
    all &= is_lower_hex(bytes);
  }
  return all;
}

}  // namespace

std::optional<HashName> HashName::parse(std::string_view text) {
  if (text.size() != 40 && text.size() != 64) return std::nullopt;
  if (!all_lower_hex(text)) return std::nullopt;
  HashName name;
  std::copy(text.begin(), text.end(), name.digits_.begin());
  name.length_ = static_cast<std::uint8_t>(text.size());
  return name;
}

HashName HashName::of(HashAlgorithm algorithm, std::string_view content) {
  HashName name;
  const DigestKind kind = digest_kind(algorithm);
  hex_digest(kind, content, name.digits_.data());
  name.length_ = static_cast<std::uint8_t>(hex_length(kind));
  return name;
}

bool HashName::names(std::string_view content) const {
  return of(algorithm(), content) == *this;
}

}  // namespace quarry::artifact
