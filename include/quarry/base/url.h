// Removes secrets from URLs that appear in messages, and reads queries.
#pragma once

#include <string>
#include <string_view>

namespace quarry::base {

/// Returns the part before the @ in TEXT, user or user:password, as a view into TEXT. Returns an
/// empty view if TEXT is not a URL or has no such part. A password may contain an unencoded /, ? or
/// #, unless the text between the colon and that character could be a port.
std::string_view credentials_in(std::string_view text);

/// Returns TEXT without user and password. Text that does not start with a scheme and "://" is
/// returned unchanged.
std::string without_credentials(std::string_view text);

/// Returns TEXT, a URL or request target, in a form that is safe to log: without user and password,
/// and without query and fragment, which may contain secrets.
std::string without_secrets(std::string_view text);

/// Returns whether QUERY, the part of a URL after the question mark, sets NAME to any value.
bool query_has(std::string_view query, std::string_view name);

}  // namespace quarry::base
