// URLs in messages.
#pragma once

#include <string>
#include <string_view>

namespace quarry::base {

/// TEXT, which may be a URL, without user and password. What does not begin with a scheme and "://"
/// is no URL, and stays as it is.
std::string without_credentials(std::string_view text);

/// TEXT, a URL or the target of a request, up to its query, which may hold a password.
std::string_view without_query(std::string_view text);

}  // namespace quarry::base
