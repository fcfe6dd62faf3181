// Removes secrets from repository URLs before they are stored for other users or shown to them.
// People and scripts put passwords and tokens into `syncwith:`, `syncfrom:` and `gitpush:` rows.
//
// Used by Pragmas.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::sync {

enum class PublicSchemes : std::uint8_t { kHttp, kHttpAndSsh };

/// URL without user, password, query, fragment and default port. Empty if its scheme is not HTTP
/// (or SSH, if SCHEMES allows it), if it does not have a host, if the name of the host contains
/// "localhost", or if it is unclear which part is the password.
std::string public_url(std::string_view url, PublicSchemes schemes = PublicSchemes::kHttp);

}  // namespace quarry::sync
