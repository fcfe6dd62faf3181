#include "quarry/artifact/digest.h"

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>

#include "hex_digest.h"

namespace quarry::artifact {
namespace {

// OpenSSL 3 looks up an algorithm by name under locks, which takes longer than hashing a small
// artifact. Therefore, each algorithm is fetched only once per process, and each thread keeps a
// context for it.
class Algorithm {
 public:
  explicit Algorithm(const char* name) : md_(EVP_MD_fetch(nullptr, name, nullptr), EVP_MD_free) {
    if (!md_) throw std::runtime_error(std::string("OpenSSL has no ") + name);
  }
  const EVP_MD* get() const { return md_.get(); }

 private:
  std::unique_ptr<EVP_MD, void (*)(EVP_MD*)> md_;
};

class Hasher {
 public:
  explicit Hasher(DigestKind kind)
      : algorithm_(algorithm_of(kind)), context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_) throw std::bad_alloc();
  }

  /// Writes the digest of BYTES to OUT. Returns the size of the digest in bytes.
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
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

std::string hex_string(DigestKind kind, std::string_view bytes) {
  std::string text(hex_length(kind), '\0');
  hex_digest(kind, bytes, text.data());
  return text;
}

}  // namespace

const EVP_MD* algorithm_of(DigestKind kind) {
  static const std::array kAlgorithms{Algorithm("MD5"), Algorithm("SHA1"), Algorithm("SHA3-256")};
  return kAlgorithms[static_cast<std::size_t>(kind)].get();
}

/// Unlike the functions of base/hex.h, this function does not allocate memory, because it is called
/// for every artifact.
void write_hex(std::basic_string_view<unsigned char> bytes, char* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (const unsigned char byte : bytes) {
    *out++ = kDigits[byte >> 4];
    *out++ = kDigits[byte & 15];
  }
}

void hex_digest(DigestKind kind, std::string_view bytes, char* out) {
  thread_local std::array hashers{Hasher(DigestKind::kMd5), Hasher(DigestKind::kSha1),
                                  Hasher(DigestKind::kSha3_256)};
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw;
  const std::size_t size = hashers[static_cast<std::size_t>(kind)](bytes, raw.data());
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
