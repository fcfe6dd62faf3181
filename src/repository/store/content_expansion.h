// Expanding artifacts: a row of `blob` is the content itself or a delta on another row, and deltas
// form chains. A chain is walked first (numbers only), then applied from its end, so that two
// buffers are held however long it is. Recently expanded artifacts are kept: neighbours share
// sources.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "database.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

using Content = std::shared_ptr<const std::string>;

/// The content of RID, of whose row STORED are the bytes: they are a delta on SOURCE, or all of it
/// if there is none. Errors: kCorrupt, kLimit (more than MAX_SIZE bytes).
base::Result<Content> expand_stored(Rid rid, std::string_view stored, const Content& source,
                                    std::size_t max_size);

class ContentExpansion {
 public:
  /// DATABASE is not owned. Sizes are in bytes.
  ContentExpansion(Database& database, std::size_t max_artifact_size, std::size_t cache_size)
      : database_(database), max_artifact_size_(max_artifact_size), cache_size_(cache_size) {}

  /// The whole content of RID. Errors: kNotFound where it or the end of its chain is a phantom,
  /// kCorrupt, kLimit.
  base::Result<Content> get(Rid rid);
  /// The row of `delta` for RID: the source, or 0 if RID is stored whole.
  Rid delta_source(Rid rid);
  /// The number of deltas to apply for RID's content, counted no further than LIMIT.
  int chain_length(Rid rid, int limit);
  /// Whether the chain of RID passes through LINK.
  bool chain_contains(Rid rid, Rid link);

  /// RID is stored whole from now on, where its content is there. Throws SqliteError.
  void store_whole(Rid rid);

  /// Remembers CONTENT as RID's, so that the next get() is free.
  void remember(Rid rid, Content content);
  void forget(Rid rid);
  void forget_all();
  /// From now on at most SIZE bytes are kept.
  void set_cache_size(std::size_t size);
  std::size_t max_artifact_size() const { return max_artifact_size_; }
  /// How often an artifact has been made from what is stored.
  std::size_t expansions() const { return expansions_; }

 private:
  struct Kept {
    Rid rid;
    Content content;
  };
  Content find_kept(Rid rid);
  base::Result<Content> make(Rid rid, const Content& source);

  Database& database_;
  std::size_t max_artifact_size_;
  std::size_t cache_size_;
  std::size_t kept_size_ = 0;
  std::size_t expansions_ = 0;
  std::list<Kept> kept_;  // most recently used first
  std::unordered_map<Rid, std::list<Kept>::iterator> index_;
};

}  // namespace quarry::repository
