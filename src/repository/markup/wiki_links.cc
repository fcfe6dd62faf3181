#include "wiki_links.h"

#include <algorithm>
#include <array>

#include "text_links.h"

#include "quarry/base/ascii.h"

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

// Markup that begins and does not end is looked for so many bytes in one text; what comes then is
// no markup, so that a text full of beginnings is read in no time.
constexpr std::size_t kMostLookedAt = 20'000'000;

/// Whether the attribute NAME stands at AT.
bool is_attribute(std::string_view text, std::size_t at, std::string_view name) {
  if (text[at - 1] != ' ' && text[at - 1] != '\t' && text[at - 1] != '\n') return false;
  for (const char c : name) {
    if (at >= text.size() || base::ascii_lower(text[at++]) != c) return false;
  }
  return at >= text.size() || !(is_alnum(text[at]) || text[at] == '-');
}

struct HtmlTag {
  std::size_t length = 0;  // 0: no markup, just text
  std::string element;
  bool is_end = false;
  bool has_id = false;
};

/// The markup that begins at the '<' at the start of TEXT. LOOKED_AT counts up.
HtmlTag tag_at(std::string_view text, std::size_t& looked_at) {
  HtmlTag markup;
  std::size_t at = 1;
  if (at < text.size() && text[at] == '/') {
    markup.is_end = true;
    ++at;
  }
  while (at < text.size() && is_alnum(text[at])) markup.element += base::ascii_lower(text[at++]);
  if (!std::binary_search(kElements.begin(), kElements.end(), markup.element)) return {};
  if (at < text.size() && text[at] != '>' && text[at] != ' ' && text[at] != '\n' &&
      text[at] != '\t' && text[at] != '/' && text[at] != '\r') {
    return {};
  }
  char quote = 0;
  for (; at < text.size() && looked_at < kMostLookedAt; ++at, ++looked_at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (is_attribute(text, at, "id")) {
      markup.has_id = true;
    } else if (c == '>') {
      markup.length = at + 1;
      return markup;
    }
  }
  return {};
}

/// Where the text goes on after a <verbatim>, which takes everything literally until its end tag.
/// One that has an id does not end: fossil does not know the id again.
std::size_t after_verbatim(std::string_view text, const HtmlTag& begin, std::size_t at,
                           std::size_t& looked_at) {
  if (begin.has_id) return text.size();
  for (; at < text.size(); ++at) {
    if (text[at] != '<') continue;
    const HtmlTag tag = tag_at(text.substr(at), looked_at);
    if (tag.is_end && tag.element == "verbatim") return at + tag.length;
  }
  return text.size();
}

}  // namespace

std::vector<std::string> wiki_links(std::string_view text) {
  std::vector<std::string> links;
  bool allows_links = true;  // not in <nowiki>
  std::size_t looked_at = 0;
  std::size_t at = 0;
  while ((at = text.find_first_of("<[", at)) != std::string_view::npos) {
    if (text[at] == '<') {
      const HtmlTag tag = tag_at(text.substr(at), looked_at);
      at += std::max<std::size_t>(tag.length, 1);
      if (tag.element == "nowiki") allows_links = tag.is_end;
      if (tag.element == "verbatim" && !tag.is_end) at = after_verbatim(text, tag, at, looked_at);
      continue;
    }
    if (!allows_links) {
      ++at;
      continue;
    }
    const std::size_t end = text.find(']', at);
    if (end == std::string_view::npos) return links;
    const std::string_view link = text.substr(at + 1, end - at - 1);
    std::string_view target = link.substr(0, link.find('|'));
    while (!target.empty() && target.back() == ' ') target.remove_suffix(1);
    add_link(target, links);
    at = end + 1;
  }
  return links;
}

}  // namespace quarry::repository
