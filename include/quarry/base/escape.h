// Escapes untrusted text for logs, JSON and web pages, so that it cannot inject log lines, terminal
// escape sequences, JSON or markup. In logs and web pages, bidirectional control characters (U+202A
// to U+202E, U+2066 to U+2069) are escaped too. Otherwise, a terminal or browser would show the
// characters after them in another order.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quarry::base {

/// Returns TEXT, truncated to LIMIT bytes. Every backslash, every byte that is neither printable
/// ASCII nor part of valid UTF-8, and every bidirectional control character is escaped as \xHH.
std::string printable(std::string_view text, std::size_t limit = 256);
/// Like printable(), but backslashes stay unchanged. Call this function for messages that contain
/// text from printable().
std::string printable_message(std::string_view text, std::size_t limit = 256);
/// Like printable(), but appends the result to OUT, and also escapes the ASCII characters in ALSO,
/// such as quotation marks.
void append_printable(std::string& out, std::string_view text, std::size_t limit,
                      std::string_view also = {});

/// Moves one character from the front of TEXT (not empty) to OUT. The character is escaped as in
/// printable_message().
void append_message_character(std::string& out, std::string_view& text);

/// Moves one character from the front of TEXT (not empty) to OUT, escaped for a JSON string.
/// Invalid UTF-8 is replaced by U+FFFD.
void append_json_character(std::string& out, std::string_view& text);
/// Appends TEXT to OUT as a JSON string with its quotation marks.
void append_json_string(std::string& out, std::string_view text);

/// Returns TEXT escaped for HTML and XML, including attribute values.
std::string escape_markup(std::string_view text);

/// Like escape_markup(), but also replaces invalid UTF-8 by U+FFFD, for pages in UTF-8. Replaces a
/// bidirectional control character by, for example, [U+202E].
std::string escape_page_text(std::string_view text);

/// Returns the length of the valid multi-byte UTF-8 sequence at the start of TEXT. Returns 0 if
/// TEXT does not start with such a sequence, or if the sequence encodes a control character.
std::size_t utf8_sequence(std::string_view text);
/// Returns whether TEXT is valid UTF-8 and does not contain control characters other than those in
/// CONTROLS.
bool is_text(std::string_view text, std::string_view controls = {});

}  // namespace quarry::base
