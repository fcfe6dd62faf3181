#include "quarry/base/url.h"

#include <algorithm>

#include "quarry/base/split.h"

namespace quarry::base {

std::string_view credentials_in(std::string_view text) {
  constexpr std::string_view kMark = "://";
  const auto is_of_scheme = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t scheme = text.find(kMark);
  if (scheme == std::string_view::npos) return {};
  if (!std::ranges::all_of(text.substr(0, scheme), is_of_scheme)) return {};
  const std::string_view rest = text.substr(scheme + kMark.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    return rest.substr(0, at);
  }
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.ends_with(']')) return {};
  if (std::ranges::all_of(authority.substr(colon + 1), is_digit)) return {};
  const std::size_t at = rest.rfind('@');
  return at == std::string_view::npos ? std::string_view() : rest.substr(0, at);
}

std::string without_credentials(std::string_view text) {
  std::string shown(text);
  const std::string_view credentials = credentials_in(text);
  if (!credentials.empty()) {
    shown.erase(static_cast<std::size_t>(credentials.data() - text.data()), credentials.size() + 1);
  }
  return shown;
}

std::string with_masked_password(std::string_view text) {
  const std::string_view login = credentials_in(text);
  const std::size_t colon = login.find(':');
  std::string shown(text);
  if (colon == std::string_view::npos) return shown;
  const std::string_view password = login.substr(colon + 1);
  return shown.replace(static_cast<std::size_t>(password.data() - text.data()), password.size(),
                       kMask);
}

std::string without_secrets(std::string_view text) {
  std::string shown = without_credentials(text);
  shown.resize(std::min(shown.find_first_of("?#"), shown.size()));
  return shown;
}

bool query_has(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::string_view pair = take_until(query, '&');
    if (take_until(pair, '=') == name) return true;
  }
  return false;
}

}  // namespace quarry::base
