// URLs of repositories as they may be kept for others and shown to them. What people and scripts
// write into `syncwith:`, `syncfrom:` and `gitpush:` rows holds passwords and tokens.
//
// Used by Pragmas.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::sync {

enum class PublicSchemes : std::uint8_t { kHttp, kHttpAndSsh };

/// URL without user, password, query, fragment and a port that goes without saying. Empty where it
/// is of another scheme than HTTP (or SSH, if that is among SCHEMES), names no host or one whose
/// name has "localhost" in it, or where it is not sure what of it is the password.
std::string public_url(std::string_view url, PublicSchemes schemes = PublicSchemes::kHttp);

}  // namespace quarry::sync
