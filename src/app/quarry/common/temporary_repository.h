// A repository file that is written under a temporary name, so that its own name never leads to an
// incomplete file.
#pragma once

#include <string>

#include "quarry/base/result.h"

namespace quarry::app {

std::string folder_of(const std::string& file);

/// The temporary file. Unless move() has renamed the file, the destructor removes the file. It
/// removes the companion files in any case.
class TemporaryRepository {
 public:
  /// FILE is the later name. PURPOSE becomes part of the temporary name.
  TemporaryRepository(std::string file, const char* purpose);
  ~TemporaryRepository();
  TemporaryRepository(const TemporaryRepository&) = delete;
  TemporaryRepository& operator=(const TemporaryRepository&) = delete;

  const std::string& path() const { return path_; }
  /// Returns ERROR with the later name instead of the temporary name.
  Error with_file_name(Error error) const;
  /// Syncs and renames the closed file. Fails if the later name exists and REPLACES is not set.
  Result<void> move(bool replaces);

 private:
  std::string file_;
  std::string path_;
};

}  // namespace quarry::app
