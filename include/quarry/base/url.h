// URLs in messages.
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

/// TEXT, a URL or the target of a request, up to its query, which may hold a password.
std::string_view without_query(std::string_view text);

}  // namespace quarry::base
