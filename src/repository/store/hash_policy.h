// The setting `hash-policy`: which hashes may name artifacts. Fossil's values are
//
//   0  sha1       own artifacts are named by SHA1
//   1  auto       so they are until the first SHA3 name comes: then 2 takes its place
//   2  sha3       own artifacts are named by SHA3
//   3  sha3-only  the same, and nobody may choose SHA1 for one
//   4  shun-sha1  the same, and what SHA1 names is not taken
//
// Without a row it is 1.
#pragma once

#include <cstdint>

#include "database.h"
#include "quarry/artifact/hash_name.h"

namespace quarry::repository {

inline constexpr const char* kHashPolicySetting = "hash-policy";
/// Whether the setting's VALUE keeps out what SHA1 names.
inline bool is_shun_sha1(std::int64_t value) {
  return value == 4;
}

class HashPolicy {
 public:
  /// DATABASE is not owned.
  explicit HashPolicy(Database& database) : database_(database) {}

  // Both throw SqliteError.

  /// An artifact called NAME comes, at NOW (seconds since 1970). Returns whether the setting has
  /// changed by that. Error: kDenied where it is not taken.
  base::Result<bool> admit(const artifact::HashName& name, std::int64_t now);
  /// What names an artifact that is made here.
  artifact::HashAlgorithm for_own();

 private:
  std::int64_t read();

  Database& database_;
};

}  // namespace quarry::repository
