// The index of a folder of repositories, as a visitor without a login may see it. The workers make
// it because they open repositories. Each worker caches the summary of a repository until the
// repository's file or write-ahead log changes.
//
// Changes are detected only with stat, because closing a file that SQLite has open in this process
// would drop SQLite's locks. A file that changed within the last tick of the file system's clock
// may change again without a new time stamp, so its summary is read again for the next list.
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
  bool may_be_cloned = true;  // whether it may be cloned without a login
};

struct RepositoryList {
  std::vector<ListedRepository> repositories;  // by name
  /// The list is incomplete: reading took too long, or there are too many repositories.
  bool is_cut = false;
};

class RepositoryIndex {
 public:
  /// Maximum length of a list, and time limit for reading changed repositories.
  static constexpr std::size_t kMaxRepositories = 10'000;
  static constexpr std::chrono::milliseconds kMaxTime{2'000};

  /// OPEN: options with which a repository is opened to read its summary.
  RepositoryIndex(std::filesystem::path folder, repository::OpenOptions open);

  /// Returns the repositories in the subfolder BELOW ("": the whole folder) that anonymous visitors
  /// may read. The list is empty if the subfolder does not exist.
  RepositoryList list(std::string_view below = {});

 private:
  struct CachedSummary {
    std::string state;                                  // state of its files; "": read the summary
                                                        // again for the next list
    std::optional<repository::ProjectSummary> summary;  // nullopt if it cannot be read
    std::uint64_t size = 0;
  };
  /// Reads the summary of FILE again if the file has changed.
  void refresh(const std::filesystem::path& file, CachedSummary& cached);

  std::filesystem::path folder_;
  repository::OpenOptions open_;
  std::map<std::string, CachedSummary, std::less<>> cached_;  // by name
};

/// Returns the page for LIST, the repositories in the subfolder BELOW ("": the served folder
/// itself), with links to its parent and its subfolders. BASE is the URL of the served folder,
/// without a trailing slash.
std::string index_page(const RepositoryList& list, std::string_view base, std::string_view below,
                       base::UnixMillis now);
/// Returns the same for programs: one clone URL per line.
std::string index_text(const RepositoryList& list, std::string_view base);

}  // namespace quarry::pages
