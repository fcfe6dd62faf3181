#include "hash_policy.h"

#include <fmt/core.h>

namespace quarry::repository {
namespace {

using artifact::HashAlgorithm;

constexpr std::int64_t kAuto = 1;
constexpr std::int64_t kSha3 = 2;

}  // namespace

std::int64_t HashPolicy::read() {
  Query query = database_.query("SELECT CAST(value AS INTEGER) FROM config WHERE name=?1",
                                kHashPolicySetting);
  return query.step() ? query.integer(0) : kAuto;
}

base::Result<bool> HashPolicy::admit(const artifact::HashName& name, std::int64_t now) {
  const std::int64_t policy = read();
  if (name.algorithm() == HashAlgorithm::kSha1) {
    if (!is_shun_sha1(policy)) return false;
    return base::fail(base::ErrorCode::kDenied,
                      fmt::format("this repository takes no SHA1 artifacts (hash-policy is "
                                  "shun-sha1): {}",
                                  name.str()));
  }
  if (policy != kAuto) return false;
  database_.execute("INSERT OR REPLACE INTO config(name,value,mtime) VALUES(?1,?2,?3)",
                    kHashPolicySetting, kSha3, now);
  return true;
}

HashAlgorithm HashPolicy::for_own() {
  return read() >= kSha3 ? HashAlgorithm::kSha3_256 : HashAlgorithm::kSha1;
}

}  // namespace quarry::repository
