// Text from outside, made safe to stand in a line of a log, in JSON or in a page: nobody
// forges a line, an escape sequence of a terminal, the end of a string, or an element.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quarry::base {

/// TEXT with a backslash and every byte that is not printable ASCII or valid UTF-8 escaped as \xHH,
/// and cut at LIMIT bytes.
std::string printable(std::string_view text, std::size_t limit = 256);
/// The same, appended to OUT; ALSO names ASCII characters to be escaped too (a quotation mark,
/// say).
void append_printable(std::string& out, std::string_view text, std::size_t limit,
                      std::string_view also = {});

/// One character off the front of TEXT (not empty), appended to OUT as printable() has it; but a
/// backslash as it stands, for messages in which what came from outside was made printable before.
void append_message_character(std::string& out, std::string_view& text);

/// One character off the front of TEXT (not empty), appended to OUT as it stands in a JSON string:
/// what is no UTF-8 becomes U+FFFD.
void append_json_character(std::string& out, std::string_view& text);
/// TEXT as a JSON string, with its quotation marks.
void append_json_string(std::string& out, std::string_view text);

/// TEXT as it stands in HTML or XML, in an attribute's value too.
std::string escape_markup(std::string_view text);

/// The length of the valid UTF-8 sequence of several bytes at the start of TEXT; 0 if there is
/// none, or if it stands for a control character.
std::size_t utf8_sequence(std::string_view text);

}  // namespace quarry::base
