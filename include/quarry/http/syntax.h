// Elements of HTTP's grammar (RFC 9110, section 5), and percent-encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// Whether TEXT can be a header name or method: one or more of RFC 9110's token characters.
bool is_token(std::string_view text);
/// Whether TEXT can be a header value: it contains no control characters except tabs.
bool is_field_value(std::string_view text);
/// Whether TEXT is a valid Host header: a name or an address, with or without a port. Rejects
/// characters with a special meaning in links, markup or headers.
bool is_host(std::string_view text);
/// Removes the first line with its line end (LF or CR LF) from the front of TEXT, and returns the
/// line.
std::string_view take_line(std::string_view& text);
/// Compares header names, ignoring case.
bool same_name(std::string_view a, std::string_view b);
bool is_letter_or_digit(char c);
/// Encodes TEXT for a URL: all characters except letters, digits and those in PLAIN. A space becomes
/// SPACE.
std::string percent_encode(std::string_view text, std::string_view plain = "-._",
                           std::string_view space = "%20");
/// Decodes %XX. nullopt if a % is not followed by two hex digits, or if the text contains a NUL,
/// which is not allowed in a path.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace quarry::http
