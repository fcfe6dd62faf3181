#include "markdown_definitions.h"

#include <algorithm>

namespace quarry::repository {
namespace {

/// Parses the definition of a name at the start of TEXT. Returns its length without the line end,
/// or 0 if there is none.
std::size_t name_definition(std::string_view text, MarkdownNames& names) {
  if (text.size() <= 3) return 0;
  std::size_t at = spaces_before(text, 4);
  if (at == 4 || at >= text.size() || text[at] != '[') return 0;
  const std::size_t name_begin = ++at;
  at = text.find_first_of("\n\r]", at);
  if (at == std::string_view::npos || text[at] != ']') return 0;
  const std::string_view name = text.substr(name_begin, at - name_begin);
  if (++at >= text.size() || text[at] != ':') return 0;
  const auto skip_blanks = [&] {
    while (at < text.size() && is_blank(text[at])) ++at;
  };
  ++at;
  skip_blanks();
  if (at < text.size() && (text[at] == '\n' || text[at] == '\r')) ++at;
  skip_blanks();
  if (at >= text.size()) return 0;
  if (text[at] == '<') ++at;
  const std::size_t begin = at;
  at = std::min(text.find_first_of(" \t\n\r", at), text.size());
  std::string_view target = text.substr(begin, at - begin);
  if (target.ends_with('>')) target.remove_suffix(1);
  skip_blanks();
  const auto at_newline = [&] { return at >= text.size() || text[at] == '\n' || text[at] == '\r'; };
  const auto is_quote = [&](std::string_view quotes) {
    return at < text.size() && quotes.find(text[at]) != std::string_view::npos;
  };
  if (!at_newline() && !is_quote("'\"(")) return 0;
  std::size_t end = 0;
  if (at_newline()) {
    end = at;
    at = std::min(at + 1, text.size());
    skip_blanks();
  }
  // A title can follow on the same line or on the next line.
  if (at + 1 < text.size() && is_quote("'\"(")) {
    const std::size_t title = ++at;
    const std::size_t title_end = std::min(text.find_first_of("\n\r", at), text.size());
    at = title_end - 1;
    while (at > title && is_blank(text[at])) --at;
    if (at > title && is_quote("'\")")) end = title_end;
  }
  if (end == 0) return 0;
  std::string key = markdown_name(name);
  if (key.empty()) return 0;
  names.add(std::move(key), target);
  return end;
}

/// Parses the definition of a footnote at the start of TEXT. Returns its length including the line
/// end, or 0 if there is none.
std::size_t footnote_definition(std::string_view text, MarkdownFootnotes& footnotes) {
  if (!text.starts_with("[^")) return 0;
  const std::size_t close = text.find_first_of("]\n\r");
  if (close == std::string_view::npos || !text.substr(close).starts_with("]:")) return 0;
  const std::string label = markdown_name(text.substr(2, close - 2));
  if (label.empty()) return 0;
  const std::size_t begin = close + 2;
  std::size_t end = std::min(text.find_first_of("\n\r", begin), text.size());
  while (end < text.size()) {
    const std::size_t next = end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
    const std::size_t line = std::min(text.find_first_of("\n\r", next), text.size());
    const std::string_view more =
        text.substr(std::min(next, text.size()), line - std::min(next, line));
    if (!more.starts_with("  ") || more.find_first_not_of(" \t") == std::string_view::npos) break;
    end = line;
  }
  std::string& note = footnotes[label];
  if (!note.empty()) note += '\n';
  note += text.substr(begin, end - begin);
  return std::min(end + (text.substr(end).starts_with("\r\n") ? 2 : 1), text.size());
}

}  // namespace

MarkdownDefinitions take_definitions(std::string_view text) {
  MarkdownDefinitions found;
  while (!text.empty()) {
    std::size_t used = footnote_definition(text, found.footnotes);
    if (used == 0) used = name_definition(text, found.names);
    if (used != 0) {
      text.remove_prefix(used);
      continue;
    }
    const std::size_t end = std::min(text.find_first_of("\n\r"), text.size());
    found.rest += text.substr(0, end);
    text.remove_prefix(end);
    while (!text.empty() && (text[0] == '\n' || text[0] == '\r')) {
      if (text[0] == '\n' || (text.size() > 1 && text[1] != '\n')) found.rest += '\n';
      text.remove_prefix(1);
    }
  }
  found.names.sort();
  return found;
}

}  // namespace quarry::repository
