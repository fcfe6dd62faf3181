// OpenSSL's digests: owned handles, and formatting of results.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string_view>

#include "hex_digest.h"

namespace quarry::artifact {

struct FreeMdContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using MdContext = std::unique_ptr<EVP_MD_CTX, FreeMdContext>;

/// Lives as long as the process. Throws std::runtime_error if OpenSSL does not support it.
const EVP_MD* algorithm_of(DigestKind kind);

/// Writes BYTES as lower-case hex to OUT, which has room for twice as many.
void write_hex(std::basic_string_view<unsigned char> bytes, char* out);

}  // namespace quarry::artifact
