// Elements of HTTP's grammar (RFC 9110, section 5), and percent-encoding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// Returns whether TEXT can be a header name or method: one or more of RFC 9110's token characters.
bool is_token(std::string_view text);
/// Returns whether TEXT can be a header value. Control characters except tabs are not allowed.
bool is_field_value(std::string_view text);
/// Returns whether TEXT is a valid Host header: a name or an address, with or without a port.
/// Characters with a special meaning in links, markup or headers are not allowed.
bool is_host(std::string_view text);
/// Removes the first line and its line end (LF or CR LF) from TEXT. Returns the line without its
/// line end.
std::string_view take_line(std::string_view& text);
/// Compares header names. The case is ignored.
bool same_name(std::string_view a, std::string_view b);
bool is_letter_or_digit(char c);
/// Encodes TEXT for a URL. Only letters, digits and the characters in PLAIN stay unchanged. A space
/// becomes SPACE.
std::string percent_encode(std::string_view text, std::string_view plain = "-._",
                           std::string_view space = "%20");
/// Decodes %XX. Returns nullopt if a % is not followed by two hex digits, or if the result contains
/// a NUL, because a path must not contain NUL.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace quarry::http
