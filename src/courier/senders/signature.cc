// Reads the secrets of destinations and computes signatures.
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <unistd.h>

#include <array>

#include "quarry/base/fd.h"
#include "quarry/base/hex.h"
#include "senders.h"

namespace quarry::courier {

std::string signature_of(std::string_view secret, std::string_view body) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(body.data()), body.size(), digest.data(), &size);
  return base::to_hex({digest.data(), size});
}

Result<std::string> read_secret(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno("cannot open {}", path);
  std::array<char, 4096> buffer{};
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  if (size < 0) return fail_errno("cannot read {}", path);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(size));
  const std::size_t end = text.find_first_of("\r\n");
  const bool is_whole = end != std::string_view::npos || text.size() < buffer.size();
  const std::string secret(text.substr(0, end));
  if (secret.empty() || !is_whole) {
    return fail(ErrorCode::kInvalid, "{}: the first line is empty or longer than {} bytes", path,
                buffer.size() - 1);
  }
  return secret;
}

}  // namespace quarry::courier
