// URLs: what of them may stand in messages, and their queries.
#pragma once

#include <string>
#include <string_view>

namespace quarry::base {

/// What stands before the @ in TEXT, where that is a URL with a user, or with user:password; a part
/// of TEXT. A password with a slash, ? or # that is not encoded is one where what precedes that is
/// no port.
std::string_view credentials_in(std::string_view text);

/// TEXT, which may be a URL, without user and password. What does not begin with a scheme and "://"
/// is no URL, and stays as it is.
std::string without_credentials(std::string_view text);

/// TEXT, a URL or the target of a request, as it may stand in a log: without user and password, and
/// without a query or fragment, which may hold one.
std::string without_secrets(std::string_view text);

/// Whether QUERY, the part of a URL after the question mark, sets NAME, to whatever value.
bool query_has(std::string_view query, std::string_view name);

}  // namespace quarry::base
