#include "quarry/artifact/running_digest.h"

#include <array>
#include <stdexcept>

#include "hex_digest.h"

namespace quarry::artifact {
namespace {

void require(bool is_done) {
  if (!is_done) throw std::runtime_error("OpenSSL cannot compute a digest");
}

}  // namespace

void RunningDigest::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

RunningDigest::RunningDigest(DigestKind kind) : context_(EVP_MD_CTX_new()) {
  require(context_ && EVP_DigestInit_ex2(context_.get(), algorithm_of(kind), nullptr) == 1);
}

void RunningDigest::add(std::string_view bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

RunningDigest RunningDigest::fork() const {
  RunningDigest other = md5();
  require(EVP_MD_CTX_copy_ex(other.context_.get(), context_.get()) == 1);
  return other;
}

std::string RunningDigest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(context_.get(), raw.data(), &size) == 1);
  std::string text(std::size_t{2} * size, '\0');
  write_hex({raw.data(), size}, text.data());
  return text;
}

}  // namespace quarry::artifact
