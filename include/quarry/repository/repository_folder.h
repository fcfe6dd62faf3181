// Finds repository files below a folder. Names and symbolic links that lead out of the folder are
// rejected.
//
// The file is opened only with O_PATH. Closing a descriptor that was opened in any other way would
// release SQLite's locks on the file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository_name.h"

namespace quarry::repository {

/// A file that was found inside the folder.
struct LocatedFile {
  std::filesystem::path path;
  dev_t device = 0;
  ino_t inode = 0;

  /// Returns whether the path still refers to the same file.
  bool is_same_now() const;
};

/// Finds the file of the repository NAME below FOLDER. Errors: kNotFound, kDenied (outside the
/// folder, or no permission), kIo.
Result<LocatedFile> locate(const std::filesystem::path& folder, const RepositoryName& name);

enum class FolderLinks : std::uint8_t { kSkip, kFollow };

struct FoundNames {
  std::vector<RepositoryName> names;  // sorted
  std::vector<Error> errors;          // an error for each folder that cannot be read completely
};

/// Returns the names of at most LIMIT repositories in FOLDER and its subfolders. Skips the folders
/// of change-set queues. LINKS says what to do with symbolic links to folders. Does not check that
/// locate() accepts the names. Error codes: kDenied, kIo, kLimit (too many files).
FoundNames names_below(const std::filesystem::path& folder,
                       std::size_t limit = std::numeric_limits<std::size_t>::max(),
                       FolderLinks links = FolderLinks::kSkip);

struct FoundFiles {
  std::vector<std::filesystem::path> files;  // relative to the folder, sorted
  std::vector<Error> errors;                 // an error for each folder that cannot be read
};

/// Returns all files in FOLDER and its subfolders whose names end in ".fossil", even if they cannot
/// be served under these names. Does not follow symbolic links to folders.
FoundFiles files_below(const std::filesystem::path& folder);

}  // namespace quarry::repository
