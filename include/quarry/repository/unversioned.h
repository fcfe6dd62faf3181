// Unversioned files: they live beside the history, and only the newest content of each is kept.
//
// Inside a Snapshot or a Receipt. All throw where the file cannot be read, but for those that
// return a Result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::repository {

struct RepositoryState;

/// A file that lives beside the history: only its newest content is kept.
struct UnversionedFile {
  std::string name;
  std::int64_t mtime = 0;           // seconds since 1970, as whoever changed it had them
  std::optional<std::string> hash;  // nothing: it was deleted
  std::int64_t size = 0;            // bytes, uncompressed
};

/// How an unversioned file, or what is told of it, arrives.
struct UnversionedArrival {
  std::string_view name;
  std::int64_t mtime = 0;
  std::string_view hash;                    // "-": it was deleted
  std::optional<std::string_view> content;  // nothing: left out
};

class UnversionedFiles {
 public:
  /// Made by Repository. STATE is not owned.
  explicit UnversionedFiles(RepositoryState& state) : state_(&state) {}

  /// All of them, deleted ones included, in the order in which they came to be.
  std::vector<UnversionedFile> all();
  std::optional<UnversionedFile> find(std::string_view name);
  /// SHA1 over `NAME YYYY-MM-DD HH:MM:SS HASH\n` of those that are not deleted, in name order.
  /// Cached until the file changes; the reference holds until the next call.
  const std::string& hash();
  /// Errors: kNotFound (no such file, deleted, or its content was never here), kCorrupt, kLimit.
  base::Result<std::string> content(std::string_view name);

 private:
  RepositoryState* state_;
};

}  // namespace quarry::repository
