#include "redaction.h"

#include <algorithm>

#include "quarry/base/url.h"

namespace quarry::backoffice {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
// Characters that delimit a path or an address.
constexpr std::string_view kMarks = "\"'`<>()[]{},;:=|";

bool is_edge(char c) {
  return kBlanks.contains(c) || kMarks.contains(c);
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string made;
  while (!what.empty()) {
    const std::size_t at = text.find(what);
    if (at == std::string_view::npos) break;
    made.append(text.substr(0, at)).append(by);
    text.remove_prefix(at + what.size());
  }
  return made.append(text);
}

/// Returns WORD, which does not contain delimiters, in redacted form.
std::string redact_word(std::string_view word) {
  if (word.size() < 2) return std::string(word);
  if (word.starts_with('/')) {
    const std::size_t last = word.rfind('/');
    // Keep "//host/path", because it is the rest of a URL. Remove the user before the "@", because
    // it might be an email address.
    if (!word.starts_with("//")) return "..." + std::string(word.substr(last));
    const std::size_t at = word.find('@');
    return at == std::string_view::npos ? std::string(word)
                                        : "//" + std::string(word.substr(at + 1));
  }
  return word.contains('@') ? "(an address)" : std::string(word);
}

}  // namespace

std::string redact(std::string_view message, std::string_view path, std::string_view name) {
  const std::string named = replaced(base::with_masked_secrets(message), path, name);
  std::string made;
  std::string_view rest = named;
  while (!rest.empty()) {
    const auto end = static_cast<std::size_t>(std::ranges::find_if(rest, is_edge) - rest.begin());
    made += redact_word(rest.substr(0, end));
    rest.remove_prefix(end);
    if (rest.empty()) break;
    made += rest.front();
    rest.remove_prefix(1);
  }
  return made;
}

}  // namespace quarry::backoffice
