// application/x-www-form-urlencoded: the form in which queries, posted forms and some cookies hold
// NAME=VALUE pairs with & between (WHATWG URL Standard, section 5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// TEXT, a value, decoded. Nothing if a % is not followed by two hex digits, or for %00.
std::optional<std::string> form_decode(std::string_view text);

/// The same as browsers and fossil do it: a % that is not followed by two hex digits stays.
std::string form_decode_leniently(std::string_view text);

/// The value of the first NAME in QUERY, decoded; "" if there is none. Nothing: see form_decode().
std::optional<std::string> form_value(std::string_view query, std::string_view name);

}  // namespace quarry::http
