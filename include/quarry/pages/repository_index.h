// The index of a folder of repositories, as a visitor without a login may see it. Workers make it,
// since they open repositories. Each worker caches a repository's summary until its file or its
// write-ahead log changes.
//
// Changes are detected with stat alone, because closing a file that SQLite has open in this process
// would drop its locks. A file that changed within the last tick of the file system's clock may
// change again unnoticed, so its summary is read again next time.
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
  std::string name;  // relative to the folder
  std::string project;
  std::string description;
  std::optional<base::UnixMillis> last_check_in;
  std::uint64_t size = 0;     // of its file, in bytes
  bool may_be_cloned = true;  // without a login
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

  /// OPEN: options for opening a repository to read its summary.
  RepositoryIndex(std::filesystem::path folder, repository::OpenOptions open);

  /// The repositories in the subfolder BELOW ("": the whole folder) that anonymous visitors may
  /// read. Empty if the subfolder does not exist.
  RepositoryList list(std::string_view below = {});

 private:
  struct CachedSummary {
    std::string state;                                  // of its files; "": read again next time
    std::optional<repository::ProjectSummary> summary;  // nullopt: it cannot be read
    std::uint64_t size = 0;
  };
  /// Reads the summary of FILE again if the file has changed.
  void refresh(const std::filesystem::path& file, CachedSummary& cached);

  std::filesystem::path folder_;
  repository::OpenOptions open_;
  std::map<std::string, CachedSummary, std::less<>> cached_;  // by name
};

/// The page of LIST, which is the content of the subfolder BELOW ("": the served folder itself),
/// with links to its parent and subfolders. BASE: the URL of the served folder, without a trailing
/// slash.
std::string index_page(const RepositoryList& list, std::string_view base, std::string_view below,
                       base::UnixMillis now);
/// The same for programs: one clone URL per line.
std::string index_text(const RepositoryList& list, std::string_view base);

}  // namespace quarry::pages
