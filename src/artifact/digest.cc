#include "quarry/artifact/digest.h"

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>

#include "evp.h"

namespace quarry::artifact {
namespace {

struct FreeMd {
  void operator()(EVP_MD* md) const { EVP_MD_free(md); }
};

// OpenSSL 3 looks up an algorithm by name under locks, which is slower than hashing a small
// artifact. So each algorithm is fetched once per process, and each thread keeps a context for it.
class Algorithm {
 public:
  explicit Algorithm(const char* name) : md_(EVP_MD_fetch(nullptr, name, nullptr)) {
    if (!md_) throw std::runtime_error(std::string("OpenSSL has no ") + name);
  }
  const EVP_MD* get() const { return md_.get(); }

 private:
  std::unique_ptr<EVP_MD, FreeMd> md_;
};

class Hasher {
 public:
  explicit Hasher(DigestKind kind) : algorithm_(algorithm_of(kind)), context_(EVP_MD_CTX_new()) {
    if (!context_) throw std::bad_alloc();
  }

  /// Returns the size of the digest in bytes.
  std::size_t operator()(std::string_view bytes, unsigned char* out) {
    unsigned int size = 0;
    if (EVP_DigestInit_ex2(context_.get(), algorithm_, nullptr) != 1 ||
        EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1 ||
        EVP_DigestFinal_ex(context_.get(), out, &size) != 1) {
      throw std::runtime_error("OpenSSL cannot compute a digest");
    }
    return size;
  }

 private:
  const EVP_MD* algorithm_;
  MdContext context_;
};

Hasher& hasher_for(DigestKind kind) {
  thread_local Hasher md5_hasher(DigestKind::kMd5);
  thread_local Hasher sha1_hasher(DigestKind::kSha1);
  thread_local Hasher sha3_256_hasher(DigestKind::kSha3_256);
  switch (kind) {
    case DigestKind::kMd5:
      return md5_hasher;
    case DigestKind::kSha1:
      return sha1_hasher;
    case DigestKind::kSha3_256:
      break;
  }
  return sha3_256_hasher;
}

std::string hex_string(DigestKind kind, std::string_view bytes) {
  std::string text(hex_length(kind), '\0');
  hex_digest(kind, bytes, text.data());
  return text;
}

}  // namespace

const EVP_MD* algorithm_of(DigestKind kind) {
  static const Algorithm md5("MD5");
  static const Algorithm sha1("SHA1");
  static const Algorithm sha3_256("SHA3-256");
  switch (kind) {
    case DigestKind::kMd5:
      return md5.get();
    case DigestKind::kSha1:
      return sha1.get();
    case DigestKind::kSha3_256:
      break;
  }
  return sha3_256.get();
}

/// Writes to the caller's buffer, because this is done for every artifact (otherwise use
/// base/hex.h).
void write_hex(std::basic_string_view<unsigned char> bytes, char* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (const unsigned char byte : bytes) {
    *out++ = kDigits[byte >> 4];
    *out++ = kDigits[byte & 15];
  }
}

void hex_digest(DigestKind kind, std::string_view bytes, char* out) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw;
  const std::size_t size = hasher_for(kind)(bytes, raw.data());
  write_hex({raw.data(), size}, out);
}

std::string sha1_hex(std::string_view bytes) {
  return hex_string(DigestKind::kSha1, bytes);
}
std::string sha3_256_hex(std::string_view bytes) {
  return hex_string(DigestKind::kSha3_256, bytes);
}
std::string md5_hex(std::string_view bytes) {
  return hex_string(DigestKind::kMd5, bytes);
}

}  // namespace quarry::artifact
