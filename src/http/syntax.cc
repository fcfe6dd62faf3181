#include "quarry/http/syntax.h"

#include <fmt/core.h>

#include <algorithm>

#include "quarry/base/ascii.h"
#include "quarry/base/hex.h"
#include "quarry/base/split.h"

namespace quarry::http {
namespace {

bool is_token_char(char c) {
  return is_letter_or_digit(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

}  // namespace

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

bool is_field_value(std::string_view text) {
  return std::ranges::none_of(text, is_control);
}

bool is_host(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return is_letter_or_digit(c) || std::string_view("-._~:[]").contains(c);
  });
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = base::take_until(text, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, base::ascii_lower, base::ascii_lower);
}

std::string percent_encode(std::string_view text, std::string_view plain, std::string_view space) {
  std::string out;
  for (const char c : text) {
    if (is_letter_or_digit(c) || plain.contains(c)) {
      out += c;
    } else if (c == ' ') {
      out += space;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result.push_back(text[i]);
      continue;
    }
    const int high = i + 1 < text.size() ? base::hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? base::hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    result.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return result;
}

}  // namespace quarry::http
