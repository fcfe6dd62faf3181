#include "quarry/pages/repository_index.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <system_error>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/repository/repository_folder.h"

namespace quarry::pages {
namespace {

using std::chrono::steady_clock;

// Minimum age of the last change of the files when a summary is read. A summary of younger files is
// not used again, because another change in the same tick of the file system's clock (at most 1/100
// s) would not be noticed.
constexpr std::int64_t kTickNanos = 15'000'000;

std::int64_t nanos_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct FileState {
  std::string text;          // "" if the file does not exist
  std::int64_t changed = 0;  // in nanoseconds since 1970
  std::uint64_t size = 0;
};

FileState state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  const std::int64_t changed = std::max(nanos_of(status.st_mtim), nanos_of(status.st_ctim));
  return {.text = fmt::format("{}.{}.{}.{}", status.st_dev, status.st_ino, status.st_size, changed),
          .changed = changed,
          .size = static_cast<std::uint64_t>(status.st_size)};
}

/// Returns the names, relative to FOLDER, of the repositories in its subfolder BELOW. Returns an
/// empty list if the path contains a link.
std::vector<repository::RepositoryName> names_in(const std::filesystem::path& folder,
                                                 std::string_view below, std::size_t max) {
  if (below.empty()) return repository::names_below(folder, max).names;
  if (!repository::RepositoryName::parse(below)) return {};
  std::filesystem::path place = folder;
  for (const auto& part : std::filesystem::path(below)) {
    place /= part;
    std::error_code error;
    const auto status = std::filesystem::symlink_status(place, error);
    if (error || status.type() != std::filesystem::file_type::directory) return {};
  }
  std::vector<repository::RepositoryName> names;
  for (const repository::RepositoryName& each : repository::names_below(place, max).names) {
    auto name = repository::RepositoryName::parse(fmt::format("{}/{}", below, each.str()));
    if (name) names.push_back(std::move(*name));
  }
  return names;
}

}  // namespace

RepositoryIndex::RepositoryIndex(std::filesystem::path folder, repository::OpenOptions open)
    : folder_(std::move(folder)), open_(std::move(open)) {
  // If a repository is locked, skip it after a short wait. The next request for a list tries again
  // to read this repository.
  open_.busy_timeout = std::chrono::milliseconds{100};
  open_.content_cache_size = 0;
}

void RepositoryIndex::refresh(const std::filesystem::path& file, CachedSummary& cached) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const FileState main = state_of(file.string());
  FileState log = state_of(file.string() + "-wal");
  // Ignore an empty write-ahead log, because it appears and disappears when programs open and close
  // the repository.
  if (log.size == 0) log = {};
  const std::string state = main.text + " " + log.text;
  if (!cached.state.empty() && cached.state == state) return;
  const bool is_reliable = nanos_of(now) - std::max(main.changed, log.changed) >= kTickNanos;
  auto summary = repository::read_summary(file, open_);
  cached = {.state = is_reliable ? state : "", .summary = std::nullopt, .size = main.size};
  if (summary) {
    cached.summary = std::move(*summary);
  } else {
    base::log(base::LogLevel::kNotice, "omitted from the index: {}", summary.error().message);
    if (summary.error().code == ErrorCode::kBusy) cached.state.clear();
  }
}

RepositoryList RepositoryIndex::list(std::string_view below) {
  const auto deadline = steady_clock::now() + kMaxTime;
  RepositoryList list;
  std::map<std::string, CachedSummary, std::less<>> cached;
  const auto names = names_in(folder_, below, kMaxRepositories);
  list.is_cut = names.size() == kMaxRepositories;
  for (const repository::RepositoryName& name : names) {
    const auto located = repository::locate(folder_, name);
    if (!located) continue;
    auto& entry = cached[name.str()];
    if (auto old = cached_.extract(name.str())) entry = std::move(old.mapped());
    if (steady_clock::now() >= deadline) {
      // The time is up, so leave out all remaining repositories. Do not show cached summaries,
      // because the repositories might have become private.
      list.is_cut = true;
      continue;
    }
    refresh(located->path, entry);
    const auto& summary = entry.summary;
    if (!summary || !summary->is_listed || !summary->may_be_read()) continue;
    list.repositories.push_back({.name = name.str(),
                                 .project = summary->name,
                                 .description = summary->description,
                                 .last_check_in = summary->last_check_in,
                                 .size = entry.size,
                                 .may_be_cloned = summary->may_be_cloned()});
  }
  // Drop entries of repositories that were removed from this folder. Keep the entries of other
  // folders.
  const std::string prefix = below.empty() ? "" : fmt::format("{}/", below);
  std::erase_if(cached_, [&](const auto& each) { return each.first.starts_with(prefix); });
  cached_.merge(cached);
  return list;
}

}  // namespace quarry::pages
