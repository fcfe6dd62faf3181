#include "markdown_html.h"

#include <algorithm>
#include <array>

#include "markdown_spans.h"

namespace quarry::repository {
namespace {

// Elements that begin an HTML block, which is literal until the element ends.
constexpr auto kBlockElements = std::to_array<std::string_view>({"pre", "script"});

bool same_nocase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x | 0x20) == (y | 0x20); });
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
  while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
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
    // A blank rest of the line, and a blank line after it.
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

}  // namespace quarry::repository
