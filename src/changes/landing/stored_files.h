// A cache of the check-ins and contents that a Lander reads from a repository. The key of an entry
// is its hash, so entries never become invalid.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/tree.h"
#include "quarry/repository/repository.h"

namespace quarry::changes {

/// The data of a check-in that is needed to create a child of it.
struct StoredCheckIn {
  artifact::HashName name;
  FileTree files;
  base::UnixMillis date;
  std::vector<artifact::HashName> parents;  // primary first
  Content manifest;
};
using CheckInPtr = std::shared_ptr<const StoredCheckIn>;

/// Use inside a Snapshot or a Receipt.
class StoredFiles {
 public:
  /// REPOSITORY is not owned. Caches at most KEPT bytes of contents.
  StoredFiles(repository::Repository& repository, std::size_t kept)
      : repository_(repository), kept_limit_(kept) {}

  /// Returns the check-in NAME. Errors: kNotFound (the check-in or its baseline is missing),
  /// kCorrupt (not a check-in), kIo.
  Result<CheckInPtr> check_in(const artifact::HashName& name);
  /// Returns the content of NAME. Passes on errors from a ContentSource.
  Result<Content> content(const artifact::HashName& name);

  /// Caches data that has just been stored.
  void remember(CheckInPtr check_in);
  void remember(const artifact::HashName& name, const Content& content);

 private:
  struct Kept {
    artifact::HashName name;
    Content content;
  };

  repository::Repository& repository_;
  std::size_t kept_limit_;
  std::size_t kept_size_ = 0;
  std::list<Kept> kept_;  // most recently used first
  std::unordered_map<artifact::HashName, std::list<Kept>::iterator> index_;
  std::list<CheckInPtr> check_ins_;  // most recently used first
};

}  // namespace quarry::changes
