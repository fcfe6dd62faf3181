#include "quarry/artifact/running_digest.h"

#include <array>
#include <stdexcept>

#include "evp.h"

namespace quarry::artifact {
namespace {

void require(bool is_done) {
  if (!is_done) throw std::runtime_error("OpenSSL cannot compute a digest");
}

}  // namespace

struct RunningDigest::State {
  MdContext context{EVP_MD_CTX_new()};
};

RunningDigest::RunningDigest(DigestKind kind) : state_(std::make_unique<State>()) {
  require(state_->context &&
          EVP_DigestInit_ex2(state_->context.get(), algorithm_of(kind), nullptr) == 1);
}

RunningDigest RunningDigest::sha1() {
  return RunningDigest(DigestKind::kSha1);
}
RunningDigest RunningDigest::sha3_256() {
  return RunningDigest(DigestKind::kSha3_256);
}
RunningDigest RunningDigest::md5() {
  return RunningDigest(DigestKind::kMd5);
}
RunningDigest::RunningDigest(RunningDigest&& other) noexcept = default;
RunningDigest& RunningDigest::operator=(RunningDigest&& other) noexcept = default;
RunningDigest::~RunningDigest() = default;

void RunningDigest::add(std::string_view bytes) {
  require(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

RunningDigest RunningDigest::fork() const {
  RunningDigest other = md5();
  require(EVP_MD_CTX_copy_ex(other.state_->context.get(), state_->context.get()) == 1);
  return other;
}

std::string RunningDigest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(state_->context.get(), raw.data(), &size) == 1);
  std::string text(std::size_t{2} * size, '\0');
  write_hex({raw.data(), size}, text.data());
  return text;
}

}  // namespace quarry::artifact
