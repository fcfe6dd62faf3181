// HTML blocks in Markdown, and the blank lines that end them.
#pragma once

#include <cstddef>
#include <string_view>

namespace quarry::repository {

/// The length of the line that begins TEXT, with its end, if it is blank; otherwise 0.
std::size_t blank_line(std::string_view text);

/// Where the HTML block ends that begins TEXT; 0 if there is none.
std::size_t html_block(std::string_view text);

}  // namespace quarry::repository
