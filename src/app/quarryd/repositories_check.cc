#include "repositories_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/repository/repository_folder.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxProblems = 50;

/// Returns WHAT and errno.
std::string with_errno(const std::string& what) {
  return fail_errno(what).error().message;
}

/// The part of the header of a SQLite database that is checked here. The format is described in
/// https://www.sqlite.org/fileformat2.html#the_database_header.
constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kReadVersion = 19;
constexpr char kWriteAheadLog = 2;

/// Returns the first bytes of FILE, up to the read version.
std::string header_of(const fs::path& file) {
  std::string header(kReadVersion + 1, '\0');
  std::ifstream(file, std::ios::binary)
      .read(header.data(), static_cast<std::streamsize>(header.size()));
  return header;
}

/// Returns whether SQLite would have to create a file before it can read FILE, which is in WAL
/// mode, but does not have the permission.
bool lacks_log(const fs::path& file) {
  const auto is_missing = [&](const char* suffix) {
    return !may(F_OK, file.string() + suffix) && errno == ENOENT;
  };
  return (is_missing("-wal") || is_missing("-shm")) && !may(W_OK | X_OK, file.parent_path() / ".");
}

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
  const std::string header = header_of(file);
  if (!header.starts_with(kMagic)) {
    found.push_back(
        fmt::format("cannot use its repository {}: it is not a SQLite database", file.string()));
    return found;
  }
  if (header[kReadVersion] == kWriteAheadLog && lacks_log(file)) {
    found.push_back(
        with_errno(
            fmt::format("cannot read its repository {}: it is in WAL mode, and SQLite cannot "
                        "create files beside it",
                        file.string())) +
        fmt::format("; allow the user to write to {}, or run `fossil sql --no-repository {} "
                    "\"PRAGMA journal_mode=DELETE\"` as the owner",
                    file.parent_path().string(), file.string()));
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
  std::vector<std::string> found;
  std::set<fs::path> subfolders;
  const auto below = repository::names_below(folder);
  for (const repository::RepositoryName& name : below.names) {
    const fs::path path = folder / name.file();
    if (found.size() > kMaxProblems) break;
    if (const auto located = repository::locate(folder, name); !located) {
      found.push_back(fmt::format("cannot serve {}: {}", path.string(), located.error().message));
      continue;
    }
    std::ranges::move(repository_errors(path, "pushes will fail"), std::back_inserter(found));
    const fs::path queue = changes::queue_base(changes, path, name.str());
    if (changes.is_enabled && !may(R_OK | W_OK | X_OK, queue) && errno != ENOENT) {
      found.push_back(with_errno(fmt::format("changes: cannot write to {}", queue.string())));
    }
    if (path.parent_path() != folder) subfolders.insert(path.parent_path());
  }
  for (const Error& error : below.errors) {
    found.push_back(error.message + "; the repositories in it are not checked");
  }
  for (const fs::path& each : subfolders) {
    if (may(W_OK | X_OK, each / ".")) continue;
    found.push_back(with_errno(fmt::format(
        "pushes will fail: cannot create files beside a repository in {}", each.string())));
  }
  if (found.size() > kMaxProblems) {
    found.resize(kMaxProblems - 1);
    found.push_back(fmt::format("{} has more problems", folder.string()));
  }
  return found;
}

}  // namespace quarry::app
