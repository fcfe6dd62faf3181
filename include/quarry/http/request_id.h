// The id of a request. The logs of the web server and of Quarry contain the same id. A web server
// passes it in the header X-Request-ID.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quarry::http {

inline constexpr char kRequestIdHeader[] = "X-Request-ID";
/// Maximum length of an id, enough for a UUID and for the ids of common proxies.
inline constexpr std::size_t kMaxRequestId = 64;

/// Returns GIVEN if it is a valid id: letters, digits and - _ . : = + / @, at most kMaxRequestId.
/// Otherwise returns a new id: 32 random hexadecimal digits.
std::string request_id_from(std::string_view given);

}  // namespace quarry::http
