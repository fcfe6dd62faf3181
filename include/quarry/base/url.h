// Removes secrets from URLs in messages, and reads queries.
#pragma once

#include <string>
#include <string_view>

namespace quarry::base {

/// Replaces a secret in output.
inline constexpr std::string_view kMask = "***";

/// Returns the credentials in the URL TEXT, "user" or "user:password", as a view into TEXT. If TEXT
/// does not have a scheme, the credentials must contain a password (user:password@host), because
/// user@host can also be an email address. Returns an empty view if TEXT is not a URL or does not
/// have an @ after the credentials. The password can contain an unencoded /, ? or #. However,
/// digits between the colon and the first of these characters are a port: for http://host:80/a@b,
/// the result is empty.
std::string_view credentials_in(std::string_view text);

/// Returns TEXT without user and password (see credentials_in()).
std::string without_credentials(std::string_view text);

/// Returns TEXT, words separated by blanks, with *** in place of the password, the query and the
/// fragment of each URL. In a URL that is not at the start of TEXT, *** also replaces the user,
/// because the user in a command's argument can be a token.
std::string with_masked_secrets(std::string_view text);

/// Returns TEXT, a URL or request target, without user, password, query and fragment. The result is
/// safe to log.
std::string without_secrets(std::string_view text);

/// Returns whether QUERY, the part of a URL after the question mark, contains the parameter NAME.
bool query_has(std::string_view query, std::string_view name);

}  // namespace quarry::base
