// The state of a repository as a cache key. Any change to the repository, by any program, results
// in a different key, so a page is valid as long as the key is the same.
//
// The state is read without SQLite and without a lock, from what SQLite writes on every commit:
//
//   FILE                 device, inode, size, times, and its header (with the change counter)
//   FILE-shm             if it exists: both copies of the WAL index header, which hold the number of
//                        frames and their checksum
//   FILE-wal, -journal   otherwise: device, inode, size and times
//
// Without a WAL index, a second change within one tick of the file system's clock would not be
// noticed. Therefore there is no key if a file changed that recently.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/pages/options.h"

namespace quarry::pages {

/// Returns nullopt if the state cannot be read, or not reliably.
std::optional<std::string> state_of(const std::filesystem::path& database);

/// The other things that a page depends on: the fossil program, and the configuration files of this
/// process's user, which fossil applies to every repository.
class FossilEnvironment {
 public:
  explicit FossilEnvironment(const Options& options);
  /// Returns nullopt in the same cases as state_of().
  std::optional<std::string> state() const;

 private:
  std::filesystem::path program_;
  std::vector<std::filesystem::path> configurations_;
};

}  // namespace quarry::pages
