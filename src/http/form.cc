#include "quarry/http/form.h"

#include <algorithm>

#include "quarry/base/hex.h"
#include "quarry/base/split.h"
#include "quarry/http/syntax.h"

namespace quarry::http {

std::optional<std::string> form_decode(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return percent_decode(spaced);
}

std::string form_decode_leniently(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    const bool is_escape = text.size() >= 3 && text[0] == '%' && base::is_hex(text.substr(1, 2));
    if (is_escape) {
      decoded += static_cast<char>(base::hex_value(text[1]) << 4 | base::hex_value(text[2]));
    } else {
      decoded += text[0] == '+' ? ' ' : text[0];
    }
    text.remove_prefix(is_escape ? 3 : 1);
  }
  return decoded;
}

std::optional<std::string> form_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::string_view value = base::take_until(query, '&');
    if (base::take_until(value, '=') == name) return form_decode(value);
  }
  return std::string();
}

}  // namespace quarry::http
