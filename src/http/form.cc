#include "quarry/http/form.h"

#include <algorithm>

#include "quarry/base/hex.h"
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
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    return form_decode(pair.substr(std::min(equals + 1, pair.size())));
  }
  return std::string();
}

}  // namespace quarry::http
