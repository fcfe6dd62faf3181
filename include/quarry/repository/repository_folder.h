// Finding a repository's file below a folder, so that no name and no symbolic link leads out of it.
//
// The file itself is only looked at through a descriptor that cannot read (O_PATH): closing one
// drops no lock, while closing any real descriptor of a repository file would drop SQLite's.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository_name.h"

namespace quarry::repository {

/// A file, as it was found to lie inside the folder.
struct LocatedFile {
  std::filesystem::path path;
  dev_t device = 0;
  ino_t inode = 0;

  /// Whether the path still leads to that file.
  bool is_same_now() const;
};

/// Finds NAME's file below FOLDER. Errors: kNotFound, kDenied (a way out of the folder, or
/// where this process may not look), kIo.
base::Result<LocatedFile> locate(const std::filesystem::path& folder, const RepositoryName& name);

/// The names of at most MOST repositories in FOLDER and the folders in it, in order of their text;
/// links to folders are not followed. Whether a name leads anywhere is for locate(). What cannot be
/// looked into is passed over.
std::vector<RepositoryName> names_below(const std::filesystem::path& folder, std::size_t most);

}  // namespace quarry::repository
