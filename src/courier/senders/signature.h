// Reads the secrets of destinations, and signs with them.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::courier {

/// HMAC-SHA256 (RFC 2104) of BODY with SECRET, in hexadecimal.
std::string signature_of(std::string_view secret, std::string_view body);
/// The first line of the file at PATH. Errors: kNotFound, kIo, kInvalid (empty or too long).
base::Result<std::string> read_secret(const std::string& path);

}  // namespace quarry::courier
