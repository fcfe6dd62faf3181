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

/// Returns whether TEXT, a URL without a scheme, might begin with USER:PASSWORD@HOST.
bool starts_with_login(std::string_view text) {
  const std::size_t colon = text.find_first_of(":/?#@ ");
  return colon != 0 && colon < text.size() && text[colon] == ':' &&
         !text.substr(colon + 1).starts_with('/') && !text.contains(' ');
}

/// Returns WORD with *** in place of secrets. WORD does not contain blanks. If WORD begins with a
/// URL and KEEPS_USER is set, the user stays readable.
std::string mask_word(std::string_view word, bool keeps_user) {
  const std::size_t mark = word.find(kSchemeEnd);
  std::size_t begin = mark;
  if (mark == std::string_view::npos) {
    // Skip the option or variable before a URL without a scheme, such as --proxy=USER:PASSWORD@HOST.
    begin = word.substr(0, word.find_first_of(":@")).find_last_of("=\"'") + 1;
  } else {
    while (begin > 0 && is_of_scheme(word[begin - 1])) --begin;
  }
  const bool has_scheme = mark != std::string_view::npos;
  const std::string_view login = credentials_in(word.substr(begin));
  if (!has_scheme && login.empty()) return std::string(word);
  // Mask the text before the URL too, because it can contain another URL.
  std::string shown = has_scheme ? mask_word(word.substr(0, begin), keeps_user)
                                 : std::string(word.substr(0, begin));
  const std::size_t authority = has_scheme ? mark + kSchemeEnd.size() : begin;
  shown.append(word.substr(begin, authority - begin));
  const std::size_t colon = login.find(':');
  if (keeps_user && begin == 0) {
    shown.append(login.substr(0, std::min(colon, login.size() - 1) + 1));
    if (colon != std::string_view::npos) shown.append(kMask);
  } else if (!login.empty()) {
    shown.append(kMask);
  }
  const std::size_t after_login = authority + login.size();
  const std::size_t query = std::min(word.find_first_of("?#", after_login), word.size());
  // Mask the path too, because it can contain another URL.
  shown.append(mask_word(word.substr(after_login, query - after_login), false));
  if (query < word.size()) shown.append(word.substr(query, 1)).append(kMask);
  return shown;
}

}  // namespace

std::string_view credentials_in(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t scheme = text.find(kSchemeEnd);
  const bool has_scheme =
      scheme != std::string_view::npos && std::ranges::all_of(text.substr(0, scheme), is_of_scheme);
  if (!has_scheme && !starts_with_login(text)) return {};
  const std::string_view rest = has_scheme ? text.substr(scheme + kSchemeEnd.size()) : text;
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
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    shown += mask_word(text.substr(0, end), shown.empty());
    const std::size_t next = std::min(text.find_first_not_of(" \t", end), text.size());
    shown.append(text.substr(end, next - end));
    text.remove_prefix(next);
  }
  return shown;
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
