// The small parts of HTTP's grammar (RFC 9110, section 5) that requests and replies share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// A header's name or a method: one or more of RFC 9110's token characters.
bool is_token(std::string_view text);
/// No control character but the tab.
bool is_field_value(std::string_view text);
/// What a Host header may say, a name or an address with a port or without: nothing that stands for
/// more in a link, in markup or in another header.
bool is_host(std::string_view text);
/// Takes the first line off TEXT, and its end, LF or CR LF, too.
std::string_view take_line(std::string_view& text);
/// Whether two header names are the same; case does not count.
bool same_name(std::string_view a, std::string_view b);
/// TEXT as it stands in a query.
std::string percent_encode(std::string_view text);
/// TEXT with its %XX undone. Nothing when a % has no two digits, or for a NUL, which no path has.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace quarry::http
