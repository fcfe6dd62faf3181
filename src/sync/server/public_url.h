// Removes secrets from repository URLs before the URLs are stored or shown to other users. URLs in
// the `config` rows `syncwith:`, `syncfrom:` and `gitpush:` can contain passwords and tokens.
//
// Used by Pragmas.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::sync {

enum class PublicSchemes : std::uint8_t { kHttp, kHttpAndSsh };

/// Returns URL without user, password, query, fragment and default port. Returns an empty string if
/// the scheme is not HTTP (or SSH, if SCHEMES allows it), if the host is missing or contains
/// "localhost", or if the password cannot be recognized with certainty.
std::string public_url(std::string_view url, PublicSchemes schemes = PublicSchemes::kHttp);

}  // namespace quarry::sync
