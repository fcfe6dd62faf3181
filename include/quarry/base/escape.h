// Escapes untrusted text for logs, JSON and web pages, so that it cannot inject log lines, terminal
// escape sequences, JSON or markup.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quarry::base {

/// TEXT with every backslash and every byte that is neither printable ASCII nor valid UTF-8 escaped
/// as \xHH, truncated to LIMIT bytes.
std::string printable(std::string_view text, std::size_t limit = 256);
/// The same, appended to OUT; ALSO lists further ASCII characters to escape, such as quotation
/// marks.
void append_printable(std::string& out, std::string_view text, std::size_t limit,
                      std::string_view also = {});

/// Takes one character off the front of TEXT (not empty) and appends it to OUT as printable() does,
/// except that backslashes are not escaped: for messages that contain printable() text already.
void append_message_character(std::string& out, std::string_view& text);

/// Takes one character off the front of TEXT (not empty) and appends it to OUT, escaped for a JSON
/// string. Invalid UTF-8 becomes U+FFFD.
void append_json_character(std::string& out, std::string_view& text);
/// TEXT as a JSON string, with its quotation marks.
void append_json_string(std::string& out, std::string_view text);

/// TEXT escaped for HTML and XML, including attribute values.
std::string escape_markup(std::string_view text);

/// The length of the valid multi-byte UTF-8 sequence at the start of TEXT; 0 if there is none or it
/// encodes a control character.
std::size_t utf8_sequence(std::string_view text);

}  // namespace quarry::base
