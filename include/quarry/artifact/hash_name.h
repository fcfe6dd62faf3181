// The name of an artifact: the hash of its content, 40 lower-case hex digits (SHA1) or 64
// (SHA3-256). A repository can contain both kinds.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace quarry::artifact {

enum class HashAlgorithm : std::uint8_t { kSha1, kSha3_256 };

class HashName {
 public:
  /// Parses TEXT. Returns nullopt if TEXT is not 40 or 64 lower-case hex digits.
  static std::optional<HashName> parse(std::string_view text);
  static HashName of(HashAlgorithm algorithm, std::string_view content);

  bool names(std::string_view content) const;
  HashAlgorithm algorithm() const {
    return length_ == 40 ? HashAlgorithm::kSha1 : HashAlgorithm::kSha3_256;
  }
  std::string_view str() const { return {digits_.data(), length_}; }

  friend bool operator==(const HashName& a, const HashName& b) { return a.str() == b.str(); }
  friend auto operator<=>(const HashName& a, const HashName& b) { return a.str() <=> b.str(); }

 private:
  HashName() = default;

  std::array<char, 64> digits_{};
  std::uint8_t length_ = 0;
};

}  // namespace quarry::artifact

template <>
struct std::hash<quarry::artifact::HashName> {
  std::size_t operator()(const quarry::artifact::HashName& name) const noexcept {
    return std::hash<std::string_view>()(name.str());
  }
};
