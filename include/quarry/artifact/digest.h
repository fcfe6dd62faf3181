// Message digests as lower-case hex, computed by OpenSSL. SHA1 and SHA3-256 are used for the names
// of artifacts and for the signatures of logins. MD5 is the checksum in the Z card of structural
// artifacts.
#pragma once

#include <string>
#include <string_view>

namespace quarry::artifact {

std::string sha1_hex(std::string_view bytes);
std::string sha3_256_hex(std::string_view bytes);
std::string md5_hex(std::string_view bytes);

}  // namespace quarry::artifact
