// The index of a folder of repositories: what a visitor may see who has not logged in. Made by
// workers, which open repositories; each keeps what it read of one for as long as its file and the
// write-ahead log beside it are the same.
//
// Those are looked at by stat alone: closing a file that SQLite has open in this process would drop
// its locks. A file that has changed within the last tick of the file system's clock may change
// again without a sign, so what is read of it then is read again the next time.
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
  std::string name;  // below the folder
  std::string project;
  std::string description;
  std::optional<base::UnixMillis> last_check_in;
  std::uint64_t size = 0;     // of its file, in bytes
  bool may_be_cloned = true;  // by everybody
};

struct RepositoryList {
  std::vector<ListedRepository> repositories;  // by name
  /// Some are left out: there was no time to look at them all, or there are too many.
  bool is_cut = false;
};

class RepositoryIndex {
 public:
  /// What a list may have at most, and how long one may take to look at those that have changed.
  static constexpr std::size_t kMaxRepositories = 10'000;
  static constexpr std::chrono::milliseconds kMaxTime{2'000};

  /// OPEN: how a repository is opened to be looked at.
  RepositoryIndex(std::filesystem::path folder, repository::OpenOptions open);

  /// Those that everybody may read, in the folder BELOW it ("": all). Empty, too, where there is no
  /// such folder.
  RepositoryList list(std::string_view below = {});

 private:
  struct CachedSummary {
    std::string state;                                  // of its files; "": not to be relied on
    std::optional<repository::ProjectSummary> summary;  // nothing: it cannot be read
    std::uint64_t size = 0;
  };
  /// Brings KNOWN up to date.
  void refresh(const std::filesystem::path& file, CachedSummary& cached);

  std::filesystem::path folder_;
  repository::OpenOptions open_;
  std::map<std::string, CachedSummary, std::less<>> cached_;  // by name
};

/// The page of LIST, which is of the folder BELOW ("": the served one itself), with links to the
/// folders in it and around it. BASE: the URL of the served folder, without a slash at its end.
std::string index_page(const RepositoryList& list, std::string_view base, std::string_view below,
                       base::UnixMillis now);
/// The same for programs: the URL to clone of each, a line each.
std::string index_text(const RepositoryList& list, std::string_view base);

}  // namespace quarry::pages
