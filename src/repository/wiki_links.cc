#include "wiki_links.h"

#include <algorithm>
#include <array>

#include "text_links.h"

namespace quarry::repository {
namespace {

// The elements of Fossil's wiki, sorted. What stands between < and > is markup only for these.
constexpr auto kElements = std::to_array<std::string_view>(
    {"a",       "address", "article", "aside", "b",       "big",      "blockquote", "body",
     "br",      "center",  "cite",    "code",  "col",     "colgroup", "dd",         "del",
     "details", "dfn",     "div",     "dl",    "dt",      "em",       "font",       "footer",
     "h1",      "h2",      "h3",      "h4",    "h5",      "h6",       "header",     "hr",
     "html",    "i",       "img",     "ins",   "kbd",     "li",       "nav",        "nobr",
     "nowiki",  "ol",      "p",       "pre",   "s",       "samp",     "section",    "small",
     "span",    "strike",  "strong",  "sub",   "summary", "sup",      "table",      "tbody",
     "td",      "tfoot",   "th",      "thead", "title",   "tr",       "tt",         "u",
     "ul",      "var",     "verbatim"});

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

struct Tag {
  std::size_t length = 0;  // 0: no markup, just text
  std::string element;
  bool is_end = false;
};

/// The markup that begins at the '<' at the start of TEXT.
Tag markup_at(std::string_view text) {
  Tag markup;
  std::size_t at = 1;
  if (at < text.size() && text[at] == '/') {
    markup.is_end = true;
    ++at;
  }
  while (at < text.size() && is_alnum(text[at])) markup.element += lower(text[at++]);
  if (!std::binary_search(kElements.begin(), kElements.end(), markup.element)) return {};
  if (at < text.size() && text[at] != '>' && text[at] != ' ' && text[at] != '\n' &&
      text[at] != '\t' && text[at] != '/' && text[at] != '\r') {
    return {};
  }
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      markup.length = at + 1;
      return markup;
    }
  }
  return {};
}

/// Where the text goes on after an element whose content is taken literally.
std::size_t after_literal(std::string_view text, std::size_t at, std::string_view element) {
  for (; at < text.size(); ++at) {
    if (text[at] != '<') continue;
    const Tag markup = markup_at(text.substr(at));
    if (markup.is_end && markup.element == element) return at + markup.length;
  }
  return text.size();
}

}  // namespace

std::vector<std::string> wiki_links(std::string_view comment) {
  std::vector<std::string> links;
  std::size_t at = 0;
  while ((at = comment.find_first_of("<[", at)) != std::string_view::npos) {
    if (comment[at] == '<') {
      const Tag markup = markup_at(comment.substr(at));
      at += std::max<std::size_t>(markup.length, 1);
      if (markup.length > 0 && !markup.is_end &&
          (markup.element == "verbatim" || markup.element == "nowiki")) {
        at = after_literal(comment, at, markup.element);
      }
      continue;
    }
    const std::size_t end = comment.find(']', at);
    if (end == std::string_view::npos) return links;
    const std::string_view link = comment.substr(at + 1, end - at - 1);
    std::string_view target = link.substr(0, link.find('|'));
    while (!target.empty() && target.back() == ' ') target.remove_suffix(1);
    add_link(target, links);
    at = end + 1;
  }
  return links;
}

}  // namespace quarry::repository
