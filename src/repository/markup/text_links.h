// Finds the artifacts to which a text links, depending on its markup.
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

/// Returns the link targets in TEXT that can be artifact names: 4 to 64 hex digits, in lower case.
/// Returns an empty list for markup that does not have links.
std::vector<std::string> text_links(std::string_view text, Markup markup);

/// Returns the links in Fossil wiki text (for example a check-in comment): "see [d5c54f0b]" or
/// "[/info/d5c54f0b|the fix]". Parses only as much of the markup as is needed to find the links.
std::vector<std::string> wiki_links(std::string_view text);

/// Returns the links in a Markdown text: [text](target), [text][name], and [name] if it is defined
/// by a line "[name]: target". Other links are ignored, and so are links in code, images and HTML
/// blocks. If Markdown is ambiguous, the parser does the same as Fossil's parser, because both must
/// write the same rows for a text. If a text is constructed to be slow to parse, only a part of it
/// is parsed.
std::vector<std::string> markdown_links(std::string_view text);

/// If TARGET can be an artifact name, adds it to LINKS in lower case. Ignores "/info/" at the start
/// of TARGET.
void add_link(std::string_view target, std::vector<std::string>& links);

}  // namespace quarry::repository
