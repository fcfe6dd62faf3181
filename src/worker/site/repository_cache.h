// The repositories that a worker keeps open between requests, with their prepared statements. The
// cache keeps the most recently used repositories. A file that has been replaced, or that was opened
// for reading only and has become writable, is reopened.
#pragma once

#include <cstddef>
#include <cstdint>
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

  /// Returns the repository in the file PATH. The cache owns the repository and keeps it open until
  /// the next call. Errors: kNotFound, kInvalid, kBusy, kIo.
  Result<repository::Repository*> file(const std::filesystem::path& path);
  /// Returns the repository called NAME in FOLDER. Errors: also kDenied (see locate()).
  Result<repository::Repository*> named(const std::filesystem::path& folder,
                                        const repository::RepositoryName& name);
  /// Succeeds if NAME is open or its file exists. Errors: the same as for locate().
  Result<void> check_exists(const std::filesystem::path& folder,
                            const repository::RepositoryName& name);
  /// Returns the last Repository::state() that other hosts have confirmed, or 0, for the repository
  /// that was returned last.
  std::uint64_t& confirmed_state() { return entries_.front().confirmed_state; }
  /// Calls Repository::keep_log_short() for each repository that was written to.
  void keep_logs_short();
  /// Returns whether a repository was written to and its log is not yet fully checkpointed.
  bool wants_checkpoint() const;
  void checkpoint();

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<repository::Repository> repository;
    std::uint64_t confirmed_state = 0;
  };
  /// Returns the open repository with KEY, moved to the front, or null if the cache does not
  /// contain it or its file must be reopened.
  repository::Repository* find(std::string_view key);
  Result<repository::Repository*> open(std::string key, const std::filesystem::path& path);

  std::size_t limit_;
  repository::OpenOptions options_;
  std::vector<Entry> entries_;  // most recently used first
};

}  // namespace quarry::worker
