// The files of SQLite's write-ahead log next to a repository: -wal and -shm. If their mode differs
// from the mode of the repository, this process might not be able to write to the repository.
#pragma once

#include <sys/types.h>

#include <array>
#include <filesystem>
#include <vector>

namespace quarry::repository {

inline constexpr auto kLogFiles = std::to_array<const char*>({"-wal", "-shm"});

std::filesystem::path with_suffix(const std::filesystem::path& path, const char* suffix);

/// Returns whether this process may write PATH. Returns true if PATH does not exist.
bool may_write(const std::filesystem::path& path);

/// Gives the log files of the repository PATH the MODE of the repository. SQLite creates log files
/// with the mode that the repository has at that time, so they are read-only if the repository was
/// read-only then. Does not open the log files, because closing them would release SQLite's locks.
void mend_modes_of_log(const std::filesystem::path& path, mode_t mode);

/// Returns the files that this process is not allowed to write, among the repository PATH and its
/// log files. The repository comes first.
std::vector<std::filesystem::path> unwritable_files(const std::filesystem::path& path);

}  // namespace quarry::repository
