#include "repository_state.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "quarry/base/fd.h"
#include "quarry/base/spawn.h"

namespace quarry::pages {
namespace {

constexpr std::size_t kDatabaseHeader = 100;
constexpr std::size_t kIndexHeaders = 96;
// Minimum age of a file's last change for a reliable key. This age is longer than a tick of the
// file system's clock, which is at most 1/100 s.
constexpr std::int64_t kTickNanos = 15'000'000;

std::int64_t nanos_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct FileTime {
  std::int64_t changed = 0;  // in nanoseconds since 1970; 0: the file does not exist
};

/// Appends the identity, size and times of PATH, and the first SIZE bytes of the file. Returns
/// nullopt if PATH cannot be read.
std::optional<FileTime> append(std::string& key, const std::string& path, std::size_t size) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) {
    key += "-;";
    return FileTime{};
  }
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const std::int64_t changed = std::max(nanos_of(status.st_mtim), nanos_of(status.st_ctim));
  key += fmt::format("{}.{}.{}.{};", status.st_dev, status.st_ino, status.st_size, changed);
  std::array<char, kDatabaseHeader> bytes{};
  const ssize_t got = ::pread(file.get(), bytes.data(), size, 0);
  if (got < 0) return std::nullopt;
  key.append(bytes.data(), static_cast<std::size_t>(got));
  return FileTime{changed};
}

}  // namespace

std::optional<std::string> state_of(const std::filesystem::path& database) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::string key;
  const auto file = append(key, database.string(), kDatabaseHeader);
  if (!file) return std::nullopt;
  // If there is a WAL index, its headers are sufficient, because they cover the whole WAL. The
  // times of the index are not used, because SQLite writes to the index through mmap, and such
  // writes do not update the times reliably.
  const base::Fd index(::open((database.string() + "-shm").c_str(), O_RDONLY | O_CLOEXEC));
  if (index) {
    std::array<char, kIndexHeaders> headers{};
    struct stat status {};
    if (::fstat(index.get(), &status) != 0 ||
        ::pread(index.get(), headers.data(), headers.size(), 0) < 0) {
      return std::nullopt;
    }
    key += fmt::format("{}.{};", status.st_dev, status.st_ino);
    return key.append(headers.data(), headers.size());
  }
  const auto log = append(key, database.string() + "-wal", 0);
  const auto journal = append(key, database.string() + "-journal", 0);
  if (!log || !journal) return std::nullopt;
  const std::int64_t changed = std::max({file->changed, log->changed, journal->changed});
  if (nanos_of(now) - changed < kTickNanos) return std::nullopt;
  return key;
}

namespace {

std::vector<std::filesystem::path> user_configurations() {
  std::vector<std::filesystem::path> paths;
  const auto add = [&paths](const char* folder, const char* file) {
    if (folder != nullptr && *folder != '\0') paths.push_back(std::filesystem::path(folder) / file);
  };
  const char* home = std::getenv("HOME");
  const passwd* const user = ::getpwuid(::geteuid());
  if (home == nullptr && user != nullptr) home = user->pw_dir;
  add(std::getenv("FOSSIL_HOME"), ".fossil");
  add(std::getenv("FOSSIL_HOME"), "fossil.db");
  add(std::getenv("XDG_CONFIG_HOME"), "fossil.db");
  add(home, ".fossil");
  add(home, ".config/fossil.db");
  return paths;
}

}  // namespace

FossilEnvironment::FossilEnvironment(const Options& options)
    : program_(base::find_program(options.program)), configurations_(user_configurations()) {}

std::optional<std::string> FossilEnvironment::state() const {
  std::string key;
  if (!append(key, program_.string(), 0)) return std::nullopt;
  for (const std::filesystem::path& database : configurations_) {
    const auto state = state_of(database);
    if (!state) return std::nullopt;
    key.append("\n").append(*state);
  }
  return key;
}

}  // namespace quarry::pages
