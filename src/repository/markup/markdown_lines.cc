#include "markdown_lines.h"

#include <algorithm>
#include <array>

#include "markdown_spans.h"
#include "quarry/base/ascii.h"

namespace quarry::repository {
namespace {

// Elements that begin an HTML block. Their content is literal up to their end tag.
constexpr auto kBlockElements = std::to_array<std::string_view>({"pre", "script"});

bool same_nocase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, base::ascii_lower, base::ascii_lower);
}

std::size_t after_item_mark(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || !is_blank(text[at + 1])) return 0;
  at += 2;
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

}  // namespace

std::size_t blank_line(std::string_view text) {
  for (std::size_t at = 0; at < text.size() && text[at] != '\n'; ++at) {
    if (!is_blank(text[at])) return 0;
  }
  return std::min(text.find('\n'), text.size()) + 1;
}

std::size_t html_block(std::string_view text) {
  if (text.size() < 2) return 0;
  const auto with_blank_line = [&](std::size_t at) -> std::size_t {
    if (at >= text.size()) return 0;
    const std::size_t blank = blank_line(text.substr(at));
    return blank == 0 ? 0 : at + blank;
  };
  std::size_t end = 1;
  while (end < text.size() && base::is_ascii_alphanumeric(text[end])) ++end;
  const std::string_view name = text.substr(1, end - 1);
  const bool is_block =
      end < text.size() && std::ranges::any_of(kBlockElements, [&](std::string_view known) {
        return same_nocase(known, name);
      });
  if (!is_block) {
    if (text.size() > 5 && text.starts_with("<!--")) {
      const std::size_t close = text.find("-->", 3);
      if (close != std::string_view::npos) {
        if (const std::size_t done = with_blank_line(close + 3)) return done;
      }
    }
    if (text.size() > 4 && same_nocase(text.substr(1, 2), "hr")) {
      const std::size_t close = text.find('>', 3);
      if (close != std::string_view::npos) return with_blank_line(close + 1);
    }
    return 0;
  }
  for (std::size_t at = text.find("</", 1); at != std::string_view::npos;
       at = text.find("</", at + 1)) {
    const std::string_view tail = text.substr(at);
    if (name.size() + 3 >= tail.size()) return 0;
    if (!same_nocase(tail.substr(2, name.size()), name) || tail[name.size() + 2] != '>') continue;
    // The rest of the line must be blank, and a blank line must follow it.
    const std::size_t rest = blank_line(tail.substr(name.size() + 3));
    if (rest == 0) continue;
    std::size_t after = name.size() + 3 + rest;
    if (after < tail.size()) {
      const std::size_t blank = blank_line(tail.substr(after));
      if (blank == 0) continue;
      after += blank;
    }
    return at + after;
  }
  return 0;
}

std::size_t line_length(std::string_view text) {
  return std::min(text.find('\n'), text.size() - 1) + 1;
}

bool is_rule(std::string_view text) {
  if (text.size() < 3) return false;
  const std::size_t begin = spaces_before(text, 3);
  if (begin + 2 >= text.size()) return false;
  const char mark = text[begin];
  if (mark != '*' && mark != '-' && mark != '_') return false;
  std::size_t marks = 0;
  for (std::size_t at = begin; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == mark) {
      ++marks;
    } else if (!is_blank(text[at])) {
      return false;
    }
  }
  return marks >= 3;
}

bool is_underline(std::string_view text) {
  if (text.empty() || (text[0] != '=' && text[0] != '-')) return false;
  std::size_t at = text.find_first_not_of(text[0]);
  while (at < text.size() && is_blank(text[at])) ++at;
  return at >= text.size() || text[at] == '\n';
}

std::size_t quote_prefix(std::string_view text) {
  const std::size_t at = spaces_before(text, 3);
  if (at >= text.size() || text[at] != '>') return 0;
  return at + (at + 1 < text.size() && is_blank(text[at + 1]) ? 2 : 1);
}

std::size_t code_prefix(std::string_view text) {
  if (text.starts_with('\t')) return 1;
  return text.starts_with("    ") ? 4 : 0;
}

std::size_t bullet_prefix(std::string_view text) {
  const std::size_t at = spaces_before(text, 3);
  if (at >= text.size() || (text[at] != '*' && text[at] != '+' && text[at] != '-')) return 0;
  return after_item_mark(text, at);
}

std::size_t number_prefix(std::string_view text) {
  const std::size_t begin = spaces_before(text, 3);
  std::size_t at = begin;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  if (at == begin || at >= text.size() || text[at] != '.') return 0;
  return after_item_mark(text, at);
}

std::size_t item_prefix(std::string_view text) {
  const std::size_t bullet = bullet_prefix(text);
  return bullet != 0 ? bullet : number_prefix(text);
}

std::size_t fenced_code(std::string_view text) {
  if (text[0] != '`' && text[0] != '~') return 0;
  const std::size_t marks = std::min(text.find_first_not_of(text[0]), text.size());
  if (marks < 3) return 0;
  std::size_t seen = 0;
  for (std::size_t at = marks; at < text.size(); ++at) {
    seen = text[at] == text[0] ? seen + 1 : 0;
    if (seen == marks) return at + 1;
  }
  return 0;
}

}  // namespace quarry::repository
