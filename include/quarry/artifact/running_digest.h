// A digest of data that arrives in pieces. The functions of digest.h are faster, but need all data
// at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace quarry::artifact {

enum class DigestKind : std::uint8_t { kMd5, kSha1, kSha3_256 };

class RunningDigest {
 public:
  static RunningDigest sha1() { return RunningDigest(DigestKind::kSha1); }
  static RunningDigest sha3_256() { return RunningDigest(DigestKind::kSha3_256); }
  static RunningDigest md5() { return RunningDigest(DigestKind::kMd5); }

  void add(std::string_view bytes);
  /// Returns a copy of the current state, to which other data can be added.
  RunningDigest fork() const;
  /// Returns the digest of all added bytes, as lower-case hex. Do not call other functions after
  /// hex().
  std::string hex();

 private:
  explicit RunningDigest(DigestKind kind);
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace quarry::artifact
