// Finds repository files below a folder. Neither names nor symbolic links can lead out of it.
//
// The file is opened only with O_PATH. If any other descriptor of a repository file were closed,
// SQLite would lose its locks on the file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository_name.h"

namespace quarry::repository {

/// A file that was found inside the folder.
struct LocatedFile {
  std::filesystem::path path;
  dev_t device = 0;
  ino_t inode = 0;

  /// Whether the path still leads to the same file.
  bool is_same_now() const;
};

/// Finds NAME's file below FOLDER. Errors: kNotFound, kDenied (outside the folder, or no
/// permission), kIo.
base::Result<LocatedFile> locate(const std::filesystem::path& folder, const RepositoryName& name);

/// Names of at most LIMIT repositories in FOLDER and its subfolders, sorted. Does not follow
/// symbolic links to folders. Does not check that locate() accepts the names. Skips unreadable
/// folders.
std::vector<RepositoryName> names_below(const std::filesystem::path& folder, std::size_t limit);

}  // namespace quarry::repository
