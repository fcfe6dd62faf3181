// Checks the files of repositories. The checks run in a process that has become the user of a
// pool's children.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quarry/changes/options.h"

namespace quarry::app {

/// Returns whether this process has the rights WHAT (as in access(2)) for PATH. Sets errno if not.
bool may(int what, const std::filesystem::path& path);

/// Returns the problems that prevent this process from reading the repository FILE, one per line.
/// If WRITER is not empty, also returns the problems that prevent writing FILE, with the prefix
/// WRITER.
std::vector<std::string> repository_errors(const std::filesystem::path& file,
                                           const std::string& writer);

/// Returns the problems that prevent this process from serving the repositories in FOLDER and its
/// subfolders, one per line. Checks at most 100,000 files and folders, and returns at most 50
/// lines. CHANGES are the options of the repositories' queues. Does not check whether FOLDER itself
/// can be written.
std::vector<std::string> errors_in_folder(const std::filesystem::path& folder,
                                          const changes::PoolOptions& changes);

}  // namespace quarry::app
