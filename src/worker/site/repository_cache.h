// The repositories that a worker keeps open between requests, with their statements prepared: those
// used last. A file that was replaced since is opened anew.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/repository_name.h"

namespace quarry::worker {

class RepositoryCache {
 public:
  RepositoryCache(std::size_t limit, const repository::OpenOptions& options)
      : limit_(limit), options_(options) {}

  /// The repository in the file PATH. It is the cache's, and stays open until another call. Errors:
  /// kNotFound, kInvalid, kBusy, kIo.
  base::Result<repository::Repository*> file(const std::filesystem::path& path);
  /// The repository called NAME in FOLDER. Errors: also kDenied (see locate()).
  base::Result<repository::Repository*> named(const std::filesystem::path& folder,
                                              const repository::RepositoryName& name);
  /// Nothing where NAME is open, or its file is there. Errors: those of locate().
  base::Result<void> check_exists(const std::filesystem::path& folder,
                                  const repository::RepositoryName& name);
  /// See Repository: of each that was written to.
  void keep_logs_short();
  /// Whether any of them was written to, and no checkpoint() has moved all of that.
  bool wants_checkpoint() const;
  void checkpoint();

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<repository::Repository> repository;
  };
  /// The open repository of KEY, moved to the front; nullptr if there is none, or it was replaced.
  repository::Repository* find(std::string_view key);
  base::Result<repository::Repository*> open(std::string key, const std::filesystem::path& path);

  std::size_t limit_;
  repository::OpenOptions options_;
  std::vector<Entry> entries_;  // the last used first
};

}  // namespace quarry::worker
