// The state of a repository as a cache key. Any change to the repository, by any program, results
// in a different key. So a page is valid until the key changes.
//
// The state is read without SQLite and without a lock. The state consists of data that SQLite
// writes on every commit:
//
//   FILE                 device, inode, size, times, and its header (with the change counter)
//   FILE-shm             if it exists: both copies of the WAL index header, which hold the number of
//                        frames and their checksum
//   FILE-wal, -journal   otherwise: device, inode, size and times
//
// Without a WAL index, a second change within the same tick of the file system's clock is not
// visible. Therefore a repository that has changed within the last tick does not have a key.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/pages/options.h"

namespace quarry::pages {

/// Returns the key of DATABASE, or nullopt if the state cannot be read reliably.
std::optional<std::string> state_of(const std::filesystem::path& database);

/// The files outside the repository that a page depends on: the fossil program, and the
/// configuration files of this process's user, which fossil applies to every repository.
class FossilEnvironment {
 public:
  explicit FossilEnvironment(const Options& options);
  /// Returns the key of these files, or nullopt in the same cases as state_of().
  std::optional<std::string> state() const;

 private:
  std::filesystem::path program_;
  std::vector<std::filesystem::path> configurations_;
};

}  // namespace quarry::pages
