// The index of a folder of repositories. It lists only repositories that anonymous visitors are
// allowed to see. Workers make the index, because the pages process does not keep repositories
// open. Each worker caches the summary of a repository until the repository's file or write-ahead
// log changes.
//
// Changes are detected with stat(2) only. Opening and closing the file itself is not safe: on
// close, the process loses SQLite's locks on the file. If a file has changed within the last tick
// of the file system's clock, a later change might not change its time stamp. So the summary of
// this file is read again for the next list.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/time.h"
#include "quarry/repository/project_summary.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/repository_name.h"

namespace quarry::pages {

struct ListedRepository {
  std::string name;  // relative to the folder, without its extension
  std::string project;
  std::string description;
  std::optional<base::UnixMillis> last_check_in;
  std::uint64_t size = 0;     // size of its file in bytes
  bool may_be_cloned = true;  // whether anonymous visitors can clone the repository
};

struct RepositoryList {
  std::vector<ListedRepository> repositories;  // sorted by name
  /// Whether the list is incomplete, because of the time limit or the maximum length.
  bool is_cut = false;
};

class RepositoryIndex {
 public:
  /// Maximum length of a list.
  static constexpr std::size_t kMaxRepositories = 10'000;
  static constexpr std::chrono::milliseconds kMaxTime{2'000};

  /// Creates the index of FOLDER. OPEN contains the options for opening its repositories.
  RepositoryIndex(std::filesystem::path folder, repository::OpenOptions open);

  /// Returns the repositories that anonymous visitors are allowed to read in the subfolder BELOW.
  /// "" means the whole folder. The list is empty if the subfolder does not exist.
  RepositoryList list(std::string_view below = {});

 private:
  struct CachedSummary {
    std::string state;  // state of its files; "": must be read again
    std::optional<repository::ProjectSummary> summary;  // nullopt: unreadable
    std::uint64_t size = 0;
  };
  /// Reads the summary of FILE again if the file has changed.
  void refresh(const std::filesystem::path& file, CachedSummary& cached);

  std::filesystem::path folder_;
  repository::OpenOptions open_;
  std::map<std::string, CachedSummary, std::less<>> cached_;  // by name
};

/// Maximum number of repositories, and of subfolders, on a page.
inline constexpr std::size_t kMaxOnPage = 250;

/// Returns the page for LIST, the repositories in the subfolder BELOW, with links to its parent and
/// its subfolders. "" means the served folder itself. BASE is the URL of the served folder, without
/// a trailing slash. The page begins after the repository AFTER; "" means the first page.
std::string index_page(const RepositoryList& list, std::string_view base, std::string_view below,
                       base::UnixMillis now, std::string_view after = {});
/// Returns the index for programs, with one clone URL per line.
std::string index_text(const RepositoryList& list, std::string_view base);

}  // namespace quarry::pages
