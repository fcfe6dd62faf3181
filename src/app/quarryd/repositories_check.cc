#include "repositories_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

#include "quarry/base/result.h"
#include "quarry/repository/repository_folder.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 100'000;
constexpr std::size_t kMaxProblems = 50;
constexpr int kMaxDepth = 16;

/// Returns WHAT and errno.
std::string with_errno(const std::string& what) {
  return fail_errno(what).error().message;
}

/// Returns whether FILE starts with the header of a SQLite database. The format is described in
/// https://www.sqlite.org/fileformat2.html#magic_header_string.
bool is_database(const fs::path& file) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::string begin(kMagic.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return in && begin == kMagic;
}

/// Checks the repositories in a folder and below it.
class FolderCheck {
 public:
  FolderCheck(const fs::path& folder, const changes::PoolOptions& changes)
      : folder_(folder), changes_(changes) {}

  std::vector<std::string> run() && {
    check_folder(folder_, 0);
    if (seen_ >= kMaxEntries) {
      found_.resize(std::min(found_.size(), kMaxProblems - 1));
      found_.push_back(fmt::format("checked only the first {} files and folders in {}", kMaxEntries,
                                   folder_.string()));
    } else if (found_.size() > kMaxProblems) {
      found_.resize(kMaxProblems - 1);
      found_.push_back(fmt::format("{} has more problems", folder_.string()));
    }
    return std::move(found_);
  }

 private:
  void check_folder(const fs::path& folder, int depth) {
    std::error_code error;
    fs::directory_iterator at(folder, error);
    bool has_repositories = false;
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
      if (++seen_ >= kMaxEntries || found_.size() > kMaxProblems) return;
      has_repositories = check_entry(*at, depth) || has_repositories;
    }
    if (error) {
      found_.push_back(fmt::format("cannot list {}, so the repositories in it are not checked: {}",
                                   folder.string(), error.message()));
    }
    if (has_repositories && depth > 0 && !may(W_OK | X_OK, folder / ".")) {
      found_.push_back(with_errno(fmt::format(
          "pushes will fail: cannot create files beside a repository in {}", folder.string())));
    }
  }

  /// Returns whether ENTRY is a repository.
  bool check_entry(const fs::directory_entry& entry, int depth) {
    constexpr std::string_view kSuffix = ".fossil";
    const fs::path& path = entry.path();
    std::string text = path.lexically_relative(folder_).string();
    std::error_code ignored;
    if (entry.symlink_status(ignored).type() == fs::file_type::directory) {
      // Skip the folders of queues, which contain many files but no repositories.
      const bool is_served =
          path.extension() != ".changes" && repository::RepositoryName::parse(text);
      if (is_served && depth < kMaxDepth) check_folder(path, depth + 1);
      return false;
    }
    if (!text.ends_with(kSuffix)) return false;
    text.resize(text.size() - kSuffix.size());
    const auto name = repository::RepositoryName::parse(text);
    if (!name) return false;
    if (const auto located = repository::locate(folder_, *name); !located) {
      found_.push_back(fmt::format("cannot serve {}: {}", path.string(), located.error().message));
      return false;
    }
    for (std::string& each : repository_errors(path, "pushes will fail")) {
      found_.push_back(std::move(each));
    }
    const fs::path queue = changes::queue_base(changes_, path, name->str());
    if (changes_.is_enabled && !may(R_OK | W_OK | X_OK, queue) && errno != ENOENT) {
      found_.push_back(with_errno(fmt::format("changes: cannot write to {}", queue.string())));
    }
    return true;
  }

  const fs::path& folder_;
  const changes::PoolOptions& changes_;
  std::size_t seen_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

bool may(int what, const fs::path& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0;
}

std::vector<std::string> repository_errors(const fs::path& file, const std::string& writer) {
  std::vector<std::string> found;
  if (!may(R_OK, file)) {
    found.push_back(with_errno("cannot read its repository " + file.string()));
    return found;
  }
  if (!is_database(file)) {
    found.push_back(
        fmt::format("cannot use its repository {}: it is not a SQLite database", file.string()));
    return found;
  }
  if (!writer.empty() && !may(W_OK, file)) {
    found.push_back(with_errno(fmt::format("{}: cannot write to {}", writer, file.string())));
  }
  for (const char* suffix : {"-wal", "-shm"}) {
    const fs::path log = file.string() + suffix;
    if (!may(R_OK, log) && errno != ENOENT) {
      found.push_back(with_errno("cannot read the write-ahead log " + log.string()));
    } else if (!writer.empty() && !may(W_OK, log) && errno != ENOENT) {
      found.push_back(with_errno(fmt::format("{}: cannot write to {}", writer, log.string())));
    }
  }
  return found;
}

std::vector<std::string> errors_in_folder(const fs::path& folder,
                                          const changes::PoolOptions& changes) {
  return FolderCheck(folder, changes).run();
}

}  // namespace quarry::app
