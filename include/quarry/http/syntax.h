// Elements of HTTP's grammar (RFC 9110, section 5), and percent-encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// A header name or method: one or more of RFC 9110's token characters.
bool is_token(std::string_view text);
/// No control characters except tabs.
bool is_field_value(std::string_view text);
/// A valid Host header: a name or an address, with or without a port. Rejects characters with a
/// special meaning in links, markup or headers.
bool is_host(std::string_view text);
/// Takes the first line and its end, LF or CR LF, off the front of TEXT; returns the line.
std::string_view take_line(std::string_view& text);
/// Compares header names, ignoring case.
bool same_name(std::string_view a, std::string_view b);
bool is_letter_or_digit(char c);
/// Encodes TEXT for a URL: all characters except letters, digits and those in PLAIN. A space becomes
/// SPACE.
std::string percent_encode(std::string_view text, std::string_view plain = "-._",
                           std::string_view space = "%20");
/// Decodes %XX. nullopt if a % is not followed by two hex digits, or for a NUL, which is not allowed
/// in a path.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace quarry::http
