// URLs: removing secrets for messages, and reading queries.
#pragma once

#include <string>
#include <string_view>

namespace quarry::base {

/// The user or user:password before the @ in TEXT, if it is a URL with one; a view into TEXT. A
/// password may contain an unencoded slash, ? or #, if the text before that is not a port.
std::string_view credentials_in(std::string_view text);

/// TEXT without user and password, if it is a URL: text that does not start with a scheme and "://"
/// is returned unchanged.
std::string without_credentials(std::string_view text);

/// TEXT, a URL or request target, in a form that is safe to log: without user and password, and
/// without query and fragment, which may contain secrets.
std::string without_secrets(std::string_view text);

/// Whether QUERY, the part of a URL after the question mark, sets NAME to any value.
bool query_has(std::string_view query, std::string_view name);

}  // namespace quarry::base
