// The artifacts that a text links to, depending on its markup.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

/// The markup is derived from a word in the mimetype, as in Fossil. Text without a mimetype is wiki
/// text.
enum class Markup { kWiki, kMarkdown, kOther };

Markup markup_of(std::optional<std::string_view> mimetype);

/// The link targets in TEXT that may be artifact names: 4 to 64 hex digits, in lower case. Empty
/// for markup that does not have links.
std::vector<std::string> text_links(std::string_view text, Markup markup);

/// The links in Fossil wiki text (for example a check-in comment): "see [d5c54f0b]" or
/// "[/info/d5c54f0b|the fix]". Parses only as much of the markup as is needed to find the links.
std::vector<std::string> wiki_links(std::string_view text);

/// The links in a Markdown text. Only those in brackets count: [text](target), [text][name], and
/// [name] if a line "[name]: target" defines it. Code, images and HTML blocks contain no links. If
/// Markdown is ambiguous (how emphasis nests, what ends a list), this follows Fossil, because both
/// must write the same rows for a text. A text that is constructed to be slow to parse is parsed
/// only in part.
std::vector<std::string> markdown_links(std::string_view text);

/// Adds the link target TARGET, in lower case, to LINKS if it may be an artifact name, with or
/// without "/info/" before it.
void add_link(std::string_view target, std::vector<std::string>& links);

}  // namespace quarry::repository
