#include <algorithm>
#include <array>

#include "quarry/base/ascii.h"
#include "text_links.h"

namespace quarry::repository {
namespace {

// The elements of Fossil's wiki markup, sorted. Other text between < and > is not markup.
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

// Maximum number of bytes per text that are searched for the end of markup. After this limit, the
// rest is treated as plain text. The limit is needed for texts with much unclosed markup.
constexpr std::size_t kMaxSearched = 20'000'000;

bool is_attribute(std::string_view text, std::size_t at, std::string_view name) {
  if (text[at - 1] != ' ' && text[at - 1] != '\t' && text[at - 1] != '\n') return false;
  for (const char c : name) {
    if (at >= text.size() || base::ascii_lower(text[at++]) != c) return false;
  }
  return at >= text.size() || !(base::is_ascii_alphanumeric(text[at]) || text[at] == '-');
}

struct HtmlTag {
  std::size_t length = 0;  // 0 for text that is not markup
  std::string element;
  bool is_end = false;
  bool has_id = false;
};

/// Returns the markup that begins with the '<' at the start of TEXT. Adds the number of searched
/// bytes to SEARCHED.
HtmlTag tag_at(std::string_view text, std::size_t& searched) {
  HtmlTag markup;
  std::size_t at = 1;
  if (at < text.size() && text[at] == '/') {
    markup.is_end = true;
    ++at;
  }
  while (at < text.size() && base::is_ascii_alphanumeric(text[at]))
    markup.element += base::ascii_lower(text[at++]);
  if (!std::binary_search(kElements.begin(), kElements.end(), markup.element)) return {};
  if (at < text.size() && text[at] != '>' && text[at] != ' ' && text[at] != '\n' &&
      text[at] != '\t' && text[at] != '/' && text[at] != '\r') {
    return {};
  }
  char quote = 0;
  for (; at < text.size() && searched < kMaxSearched; ++at, ++searched) {
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

/// Returns the position after a <verbatim> element, whose content is literal up to its end tag. An
/// element with an id extends to the end of the text, because fossil does not recognize the id in
/// the end tag.
std::size_t after_verbatim(std::string_view text, const HtmlTag& begin, std::size_t at,
                           std::size_t& searched) {
  if (begin.has_id) return text.size();
  for (; at < text.size(); ++at) {
    if (text[at] != '<') continue;
    const HtmlTag tag = tag_at(text.substr(at), searched);
    if (tag.is_end && tag.element == "verbatim") return at + tag.length;
  }
  return text.size();
}

}  // namespace

std::vector<std::string> wiki_links(std::string_view text) {
  std::vector<std::string> links;
  bool allows_links = true;  // false inside <nowiki>
  std::size_t searched = 0;
  std::size_t at = 0;
  while ((at = text.find_first_of("<[", at)) != std::string_view::npos) {
    if (text[at] == '<') {
      const HtmlTag tag = tag_at(text.substr(at), searched);
      at += std::max<std::size_t>(tag.length, 1);
      if (tag.element == "nowiki") allows_links = tag.is_end;
      if (tag.element == "verbatim" && !tag.is_end) at = after_verbatim(text, tag, at, searched);
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
