// The artifacts that a Markdown text links to.
//
// Only links written in brackets count: [text](target), [text][name], [name] where a line
// "[name]: target" gives the name one. What is code, an image or an HTML block holds none. Where
// Markdown leaves a choice (how emphasis nests, what ends a list), the choice is Fossil's, since
// the rows that it computes from the same text have to be the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

/// The link targets in TEXT that may be artifact names: 4 to 64 hex digits, in lower case. A text
/// that is made to be slow to read is read in part only.
std::vector<std::string> markdown_links(std::string_view text);

}  // namespace quarry::repository
