// Maps the names in artifacts (hashes, file names, tag names) to row ids. If an artifact refers to
// an unknown name, a row is created: a phantom for a hash, and a plain row for other names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "database.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

/// The predefined rows of `tag`.
enum PredefinedTag : std::int64_t {
  kTagBgcolor = 1,
  kTagComment = 2,
  kTagUser = 3,
  kTagDate = 4,
  kTagHidden = 5,
  kTagPrivate = 6,
  kTagCluster = 7,
  kTagBranch = 8,
  kTagClosed = 9,
  kTagParent = 10,
  kTagNote = 11,
};

/// Returns HASH in lower case.
std::string lower_hash(std::string_view hash);

class Names {
 public:
  /// DATABASE is not owned.
  explicit Names(Database& database) : database_(database) {}

  /// Returns the rid of the artifact HASH, or 0 if there is none. Like need(), accepts upper-case
  /// letters in HASH, because artifacts can contain such hashes.
  Rid find(std::string_view hash);
  /// Like find(), but case-sensitive: a HASH with upper-case letters is never found.
  Rid find_as_written(std::string_view hash);
  /// Returns the rid of the artifact HASH. If it does not exist, creates a phantom. Returns 0 for a
  /// shunned artifact that is not stored, because such an artifact will never arrive.
  Rid need(std::string_view hash);
  /// Adds a phantom. HASH must be in lower case.
  Rid make_phantom(std::string_view hash, bool is_private);
  std::string hash_of(Rid rid);

  std::int64_t file_name(std::string_view name);
  std::int64_t tag(std::string_view name);
  /// Returns the id of the tag NAME, or 0 if the tag does not exist.
  std::int64_t find_tag(std::string_view name);

  /// Returns the symbolic tags of the artifact RID (its branches and releases), at most LIMIT.
  std::vector<std::string> symbolic_tags(Rid rid, std::size_t limit);

  /// Reads all artifact names into memory, for many lookups. The names are kept until forget_all().
  void hold();
  /// Clears the cache. Call it after a rollback, because row ids in the cache might be wrong.
  void forget_all();

 private:
  Database& database_;
  std::optional<std::unordered_map<artifact::HashName, Rid>> artifacts_;
  std::unordered_map<std::string, std::int64_t> file_names_;
  std::unordered_map<std::string, std::int64_t> tags_;
};

}  // namespace quarry::repository
