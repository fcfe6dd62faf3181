#include "quarry/base/url.h"

#include <algorithm>

namespace quarry::base {

std::string without_credentials(std::string_view text) {
  constexpr std::string_view kMark = "://";
  const auto is_of_scheme = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.';
  };
  std::string shown(text);
  const std::size_t scheme = text.find(kMark);
  if (scheme == std::string_view::npos) return shown;
  if (!std::ranges::all_of(text.substr(0, scheme), is_of_scheme)) return shown;
  const std::size_t host = scheme + kMark.size();
  const std::size_t at = text.substr(0, text.find_first_of("/?#", host)).rfind('@');
  if (at != std::string_view::npos && at >= host) shown.erase(host, at + 1 - host);
  return shown;
}

std::string_view without_query(std::string_view text) {
  return text.substr(0, text.find('?'));
}

}  // namespace quarry::base
