// The `hash-policy` setting, which determines the allowed hash algorithms. Fossil's values are
//
//   0  sha1       new artifacts use SHA1
//   1  auto       new artifacts use SHA1; the first received SHA3 artifact sets 2
//   2  sha3       new artifacts use SHA3
//   3  sha3-only  like 2, and users cannot choose SHA1
//   4  shun-sha1  like 3, and SHA1 artifacts are rejected
//
// The default is 1.
#pragma once

#include <cstdint>

#include "database.h"
#include "quarry/artifact/hash_name.h"

namespace quarry::repository {

inline constexpr const char* kHashPolicySetting = "hash-policy";
/// Returns whether the setting's VALUE rejects SHA1 artifacts.
inline bool is_shun_sha1(std::int64_t value) {
  return value == 4;
}

// Both functions throw SqliteError.

/// Checks whether NAME, which arrived at NOW (seconds since 1970), is allowed. Returns true if NAME
/// is the first SHA3 artifact and has therefore changed the setting. Error: kDenied (NAME is
/// rejected).
Result<bool> admit_hash(Database& database, const artifact::HashName& name, std::int64_t now);
/// Returns the algorithm for new artifacts.
artifact::HashAlgorithm hash_for_own(Database& database);

}  // namespace quarry::repository
