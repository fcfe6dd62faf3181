// Message digests as lower-case hex, computed by OpenSSL. SHA1 and SHA3-256 name artifacts and sign
// logins; MD5 is the checksum of structural artifacts (their Z card).
#pragma once

#include <string>
#include <string_view>

namespace quarry::artifact {

std::string sha1_hex(std::string_view bytes);
std::string sha3_256_hex(std::string_view bytes);
std::string md5_hex(std::string_view bytes);

}  // namespace quarry::artifact
