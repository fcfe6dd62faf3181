// Expands artifacts. A row of `blob` contains the whole content or a delta on another row, and
// deltas form chains. First, only the row ids of the chain are read. Then the deltas are applied,
// beginning at the end of the chain, so that only two buffers are needed. Recently expanded
// artifacts are cached, because neighbouring artifacts often have the same sources.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "database.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

using Content = std::shared_ptr<const std::string>;

/// Expands STORED, the bytes in the row of RID: a delta on SOURCE, or the whole content if SOURCE
/// is null. Errors: kCorrupt, kLimit (more than MAX_SIZE bytes).
Result<Content> expand_stored(Rid rid, std::string_view stored, const Content& source,
                              std::size_t max_size);

class ContentExpansion {
 public:
  /// DATABASE is not owned. Sizes are in bytes.
  ContentExpansion(Database& database, std::size_t max_artifact_size, std::size_t cache_size)
      : database_(database), max_artifact_size_(max_artifact_size), cache_limit_(cache_size) {}

  /// Returns the whole content of RID. Errors: kNotFound (RID or the end of its chain is a
  /// phantom), kCorrupt, kLimit.
  Result<Content> get(Rid rid);
  /// Returns the delta source of RID, or 0 if RID is stored whole.
  Rid delta_source(Rid rid);
  /// Returns the number of deltas in the chain of RID, counted only up to LIMIT.
  int chain_length(Rid rid, int limit);
  bool chain_contains(Rid rid, Rid link);

  /// Stores RID whole, unless its content cannot be expanded. Throws SqliteError.
  void store_whole(Rid rid);

  void remember(Rid rid, Content content);
  void forget(Rid rid);
  void forget_all();
  /// Limits the cache to SIZE bytes.
  void set_cache_size(std::size_t size);
  std::size_t max_artifact_size() const { return max_artifact_size_; }
  /// Returns the total number of times that artifacts were expanded.
  std::size_t expansions() const { return expansions_; }

 private:
  struct Cached {
    Rid rid;
    Content content;
  };
  Content find_cached(Rid rid);
  Result<Content> make(Rid rid, const Content& source);

  Database& database_;
  std::size_t max_artifact_size_;
  std::size_t cache_limit_;
  std::size_t cached_size_ = 0;
  std::size_t expansions_ = 0;
  std::list<Cached> cached_;  // most recently used first
  std::unordered_map<Rid, std::list<Cached>::iterator> index_;
};

}  // namespace quarry::repository
