// What a repository is like at a moment, as a key: whatever is changed in it, by whom ever, gives
// another one, so that a page that was made for this one is right for as long as it is the same.
//
// Read without SQLite and without a lock, from what every SQLite writes when it commits:
//
//   FILE                 which it is, its size and time, its header (with the change counter)
//   FILE-shm             where it is there: both copies of the header of the index of the write-ahead
//                        log, which hold the number of its frames and their checksum
//   FILE-wal, -journal   otherwise: which they are, their size and time
//
// Without an index, and with a time of just now, a second change at the same tick of the clock could
// hide: then there is no key.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/pages/options.h"

namespace quarry::pages {

/// Nothing: it cannot be told, or not safely.
std::optional<std::string> state_of(const std::filesystem::path& database);

/// What else a page is made from, at this moment: the program, and where a fossil of this process's
/// user may have its own configuration, which it uses for every repository.
class FossilEnvironment {
 public:
  explicit FossilEnvironment(const Options& options);
  /// As state_of().
  std::optional<std::string> state() const;

 private:
  std::filesystem::path program_;
  std::vector<std::filesystem::path> configurations_;
};

}  // namespace quarry::pages
