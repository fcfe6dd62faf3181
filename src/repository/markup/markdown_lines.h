// Finds the characters that begin and end blocks of a Markdown text. In each function, TEXT begins
// at the start of a line.
#pragma once

#include <cstddef>
#include <string_view>

namespace quarry::repository {

/// Returns the length of the first line of TEXT, including its end, if the line is blank.
/// Otherwise, returns 0.
std::size_t blank_line(std::string_view text);
/// Returns the length of the first line of TEXT (not empty), including its end.
std::size_t line_length(std::string_view text);
/// Returns the end of the HTML block at the start of TEXT, or 0 if there is none.
std::size_t html_block(std::string_view text);
/// Returns the end of the fenced code at the start of TEXT (not empty), or 0 if there is none.
/// Fenced code is between two runs of at least three equal marks.
std::size_t fenced_code(std::string_view text);
/// Returns whether the line at the start of TEXT is a horizontal rule.
bool is_rule(std::string_view text);
/// Returns whether the line at the start of TEXT underlines the line before it as a heading.
bool is_underline(std::string_view text);

/// Return the length of the prefix of the first line: for a quotation, for indented code, and for
/// an item of a bulleted list, a numbered list or any list. Return 0 if the line does not have this
/// prefix.
std::size_t quote_prefix(std::string_view text);
std::size_t code_prefix(std::string_view text);
std::size_t bullet_prefix(std::string_view text);
std::size_t number_prefix(std::string_view text);
std::size_t item_prefix(std::string_view text);

}  // namespace quarry::repository
