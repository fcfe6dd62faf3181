// Unversioned files, which are not part of the history. Only the newest content of each file is
// kept.
//
// Use inside a Snapshot or a Receipt. Functions that do not return a Result throw if the file
// cannot be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::repository {

struct RepositoryState;

struct UnversionedFile {
  std::string name = {};
  std::int64_t mtime = 0;  // seconds since 1970, by the clock of the machine that changed the file
  std::optional<std::string> hash = {};  // nullopt if deleted
  std::int64_t size = 0;                 // bytes, uncompressed
};

/// A received unversioned file, with or without its content.
struct UnversionedArrival {
  std::string_view name;
  std::int64_t mtime = 0;
  std::string_view hash;                    // "-" if deleted
  std::optional<std::string_view> content;  // nullopt if not sent
};

class UnversionedFiles {
 public:
  /// Created by Repository. STATE is not owned.
  explicit UnversionedFiles(RepositoryState& state) : state_(&state) {}

  /// Returns all files, including deleted ones, in order of creation.
  std::vector<UnversionedFile> all();
  std::optional<UnversionedFile> find(std::string_view name);
  /// Returns SHA1 over the lines `NAME YYYY-MM-DD HH:MM:SS HASH\n` of all files that are not
  /// deleted, in name order. The result is cached until the file changes. The reference is valid
  /// until the next call.
  const std::string& hash();
  /// Returns the content of the file NAME. Errors: kNotFound (the file does not exist, is deleted,
  /// or its content was never received), kCorrupt, kLimit.
  Result<std::string> content(std::string_view name);

 private:
  RepositoryState* state_;
};

}  // namespace quarry::repository
