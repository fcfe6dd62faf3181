// The artifacts that a Markdown text links to.
//
// Only links in brackets count: [text](target), [text][name], and [name] if a line "[name]: target"
// defines it. Code, images and HTML blocks contain no links. Where Markdown is ambiguous (how
// emphasis nests, what ends a list), this follows Fossil, whose rows for the same text must be the
// same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

/// The link targets in TEXT that may be artifact names: 4 to 64 hex digits, in lower case. A text
/// that was made to be slow to parse is parsed only in part.
std::vector<std::string> markdown_links(std::string_view text);

}  // namespace quarry::repository
