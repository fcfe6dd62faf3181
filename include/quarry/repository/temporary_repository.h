// A repository file that is written under a temporary name, so that the final name never refers to
// an incomplete file.
#pragma once

#include <string>

#include "quarry/base/result.h"

namespace quarry::repository {

std::string folder_of(const std::string& file);

/// The temporary file. The destructor removes the file unless move() has renamed it, and always
/// removes the companion files.
class TemporaryRepository {
 public:
  /// FILE is the final name. PURPOSE becomes part of the temporary name. Removes the files that
  /// processes with the same FILE and PURPOSE have left when they were killed.
  TemporaryRepository(std::string file, const char* purpose);
  ~TemporaryRepository();
  TemporaryRepository(const TemporaryRepository&) = delete;
  TemporaryRepository& operator=(const TemporaryRepository&) = delete;

  const std::string& path() const { return path_; }
  /// Returns ERROR with the final name instead of the temporary name.
  Error with_file_name(Error error) const;
  /// Syncs the file to disk and renames it. The repository must be closed. Fails if the final name
  /// exists and REPLACES is not set.
  Result<void> move(bool replaces);

 private:
  std::string file_;
  std::string path_;
};

}  // namespace quarry::repository
