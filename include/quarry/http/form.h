// application/x-www-form-urlencoded: the encoding of queries, posted forms and some cookies as
// NAME=VALUE pairs separated by & (WHATWG URL Standard, section 5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// Decodes a value. Returns nullopt if a % is not followed by two hex digits, or if the value
/// contains %00.
std::optional<std::string> form_decode(std::string_view text);

/// Decodes a value. Like browsers and fossil, keeps a % that is not followed by two hex digits.
std::string form_decode_leniently(std::string_view text);

/// Returns the decoded value of the first NAME in QUERY, or an empty string if QUERY does not
/// contain NAME. Returns nullopt in the same cases as form_decode().
std::optional<std::string> form_value(std::string_view query, std::string_view name);

}  // namespace quarry::http
