#include "hash_policy.h"

namespace quarry::repository {
namespace {

using artifact::HashAlgorithm;

constexpr std::int64_t kAuto = 1;
constexpr std::int64_t kSha3 = 2;

std::int64_t read_policy(Database& database) {
  Query query =
      database.query("SELECT CAST(value AS INTEGER) FROM config WHERE name=?1", kHashPolicySetting);
  return query.step() ? query.integer(0) : kAuto;
}

}  // namespace

Result<bool> admit_hash(Database& database, const artifact::HashName& name, std::int64_t now) {
  const std::int64_t policy = read_policy(database);
  if (name.algorithm() == HashAlgorithm::kSha1) {
    if (!is_shun_sha1(policy)) return false;
    return fail(ErrorCode::kDenied,
                "this repository does not accept SHA1 artifacts (hash-policy is shun-sha1): {}",
                name.str());
  }
  if (policy != kAuto) return false;
  database.execute("INSERT OR REPLACE INTO config(name,value,mtime) VALUES(?1,?2,?3)",
                   kHashPolicySetting, kSha3, now);
  return true;
}

HashAlgorithm hash_for_own(Database& database) {
  return read_policy(database) >= kSha3 ? HashAlgorithm::kSha3_256 : HashAlgorithm::kSha1;
}

}  // namespace quarry::repository
