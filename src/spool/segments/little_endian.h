// Writes and reads little-endian numbers in files and frames, on any machine.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::spool {

template <std::unsigned_integral Number>
void put(char* to, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    to[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

template <std::unsigned_integral Number>
Number get(const char* from) {
  Number value = 0;
  for (std::size_t i = sizeof value; i-- > 0;) {
    value = static_cast<Number>(static_cast<std::uint64_t>(value) << 8 |
                                static_cast<unsigned char>(from[i]));
  }
  return value;
}

template <std::unsigned_integral Number>
void append_number(std::string& to, Number value) {
  to.resize(to.size() + sizeof value);
  put(to.data() + to.size() - sizeof value, value);
}

/// Appends the length of TEXT and then TEXT. The length must fit into Length.
template <std::unsigned_integral Length>
void append_text(std::string& to, std::string_view text) {
  append_number(to, static_cast<Length>(text.size()));
  to += text;
}

/// Reads fields in the order in which they were appended. After an attempt to read past the end,
/// all further fields are zero or empty.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}

  template <std::unsigned_integral Number>
  Number number() {
    if (!has(sizeof(Number))) return 0;
    const auto value = get<Number>(rest_.data());
    rest_.remove_prefix(sizeof(Number));
    return value;
  }
  template <std::unsigned_integral Length>
  std::string_view text() {
    return bytes(number<Length>());
  }
  std::string_view bytes(std::size_t count) {
    if (!has(count)) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest() const { return rest_; }
  bool has_failed() const { return has_failed_; }
  /// Returns whether all fields were present and no data follows them.
  bool is_whole() const { return !has_failed_ && rest_.empty(); }

 private:
  bool has(std::size_t count) {
    if (rest_.size() < count) has_failed_ = true;
    if (has_failed_) rest_ = {};
    return !has_failed_;
  }

  std::string_view rest_;
  bool has_failed_ = false;
};

}  // namespace quarry::spool
