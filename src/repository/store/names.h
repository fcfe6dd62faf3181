// From the names that artifacts use to the row numbers that tables use: hash names, file names, tag
// names. A name that something refers to and that is not there yet gets a row: a phantom for an
// artifact, a plain row for the others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "database.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

/// The rows of `tag` that every repository begins with.
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

/// HASH with its capital letters made small.
std::string lower_hash(std::string_view hash);

class Names {
 public:
  /// DATABASE is not owned.
  explicit Names(Database& database) : database_(database) {}

  /// The row of the artifact HASH, 0 if there is none. Capital letters in HASH are taken for small
  /// ones, as artifacts may name others by either; so in need().
  Rid find(std::string_view hash);
  /// The row of the artifact that has the very name HASH, 0 if there is none: what HASH with a
  /// capital letter in it never finds.
  Rid find_as_written(std::string_view hash);
  /// The row of the artifact HASH; a phantom is made where there is none. 0 for one that is shunned
  /// and gone: it is not waited for.
  Rid need(std::string_view hash);
  /// HASH has small letters only.
  Rid make_phantom(std::string_view hash, bool is_private);
  std::string hash_of(Rid rid);

  std::int64_t file_name(std::string_view name);
  std::int64_t tag(std::string_view name);
  /// The same, but 0 if there is no such tag.
  std::int64_t find_tag(std::string_view name);

  /// Many names are looked up: reads them all. Until forget_all().
  void hold();
  /// Row numbers learned so far may be wrong after a rollback.
  void forget_all();

 private:
  Database& database_;
  std::optional<std::unordered_map<artifact::HashName, Rid>> artifacts_;
  std::unordered_map<std::string, std::int64_t> file_names_;
  std::unordered_map<std::string, std::int64_t> tags_;
};

}  // namespace quarry::repository
