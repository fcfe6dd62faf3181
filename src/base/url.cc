#include "quarry/base/url.h"

#include <algorithm>

#include "quarry/base/split.h"

namespace quarry::base {
namespace {

constexpr std::string_view kSchemeEnd = "://";

bool is_of_scheme(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '-' || c == '.';
}

}  // namespace

std::string_view credentials_in(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t scheme = text.find(kSchemeEnd);
  if (scheme == std::string_view::npos) return {};
  if (!std::ranges::all_of(text.substr(0, scheme), is_of_scheme)) return {};
  const std::string_view rest = text.substr(scheme + kSchemeEnd.size());
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

std::string with_masked_secrets(std::string_view text) {
  std::string shown;
  for (;;) {
    const std::size_t mark = text.find(kSchemeEnd);
    if (mark == std::string_view::npos) return shown.append(text);
    std::size_t begin = mark;
    while (begin > 0 && is_of_scheme(text[begin - 1])) --begin;
    const bool keeps_user = shown.empty() && begin == 0;
    const std::size_t end = std::min(text.find_first_of(" \t", mark), text.size());
    const std::string_view login = credentials_in(text.substr(begin, end - begin));
    const std::size_t after_scheme = mark + kSchemeEnd.size();
    shown.append(text.substr(0, after_scheme));
    const std::size_t colon = login.find(':');
    if (keeps_user) shown.append(login.substr(0, std::min(colon, login.size() - 1) + 1));
    if (!login.empty() && (!keeps_user || colon != std::string_view::npos)) shown.append(kMask);
    const std::size_t after_login = after_scheme + login.size();
    const std::size_t query = std::min(text.find_first_of("?#", after_login), end);
    shown.append(text.substr(after_login, query - after_login));
    if (query < end) shown.append(text.substr(query, 1)).append(kMask);
    text.remove_prefix(end);
  }
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
