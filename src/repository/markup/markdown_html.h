// HTML blocks in Markdown, and the blank lines that end them.
#pragma once

#include <cstddef>
#include <string_view>

namespace quarry::repository {

/// The length of the first line of TEXT, including its end, if it is blank; otherwise 0.
std::size_t blank_line(std::string_view text);

/// The end of the HTML block at the start of TEXT; 0 if there is none.
std::size_t html_block(std::string_view text);

}  // namespace quarry::repository
