#include "quarry/artifact/hash_name.h"

#include <algorithm>

#include "hex_digest.h"

namespace quarry::artifact {
namespace {

constexpr DigestKind digest_kind(HashAlgorithm algorithm) {
  return algorithm == HashAlgorithm::kSha1 ? DigestKind::kSha1 : DigestKind::kSha3_256;
}

/// Without a branch on the text, since a clone reads two names an artifact.
bool all_lower_hex(std::string_view text) {
  bool all = true;
  for (const char c : text) {
    const bool is_digit = static_cast<unsigned char>(c - '0') < 10;
    const bool is_letter = static_cast<unsigned char>(c - 'a') < 6;
    all &= is_digit | is_letter;
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
