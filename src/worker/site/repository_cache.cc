#include "repository_cache.h"

#include <algorithm>

#include "quarry/repository/repository_folder.h"

namespace quarry::worker {

using repository::Repository;

Repository* RepositoryCache::find(std::string_view key) {
  const auto at = std::ranges::find(entries_, key, &Entry::key);
  if (at == entries_.end()) return nullptr;
  const bool was_replaced = at->repository->was_replaced();
  if (was_replaced) at->repository->remove_leftovers();
  if (was_replaced || at->repository->became_writable()) {
    entries_.erase(at);
    return nullptr;
  }
  std::rotate(entries_.begin(), at, at + 1);
  return entries_.front().repository.get();
}

Result<Repository*> RepositoryCache::open(std::string key, const std::filesystem::path& path) {
  while (entries_.size() >= limit_) entries_.pop_back();
  QUARRY_TRY_ASSIGN(auto opened, Repository::open(path, options_));
  entries_.insert(entries_.begin(), Entry{std::move(key), std::move(opened), 0});
  return entries_.front().repository.get();
}

Result<Repository*> RepositoryCache::file(const std::filesystem::path& path) {
  if (Repository* open_one = find("")) return open_one;
  return open("", path);
}

Result<Repository*> RepositoryCache::named(const std::filesystem::path& folder,
                                           const repository::RepositoryName& name) {
  if (Repository* open_one = find(name.str())) return open_one;
  QUARRY_TRY_ASSIGN(const repository::LocatedFile located, repository::locate(folder, name));
  QUARRY_TRY_ASSIGN(Repository * opened, open(name.str(), located.path));
  // SQLite opens by path, so check that it opened the file that locate() found inside the folder.
  if (!located.is_same_now() || opened->was_replaced()) {
    entries_.erase(entries_.begin());
    return fail(ErrorCode::kBusy, "the repository is being replaced");
  }
  return opened;
}

void RepositoryCache::keep_logs_short() {
  for (const Entry& one : entries_) one.repository->keep_log_short();
}

bool RepositoryCache::wants_checkpoint() const {
  return std::ranges::any_of(entries_,
                             [](const Entry& one) { return one.repository->wants_checkpoint(); });
}

void RepositoryCache::checkpoint() {
  std::erase_if(entries_, [](const Entry& one) {
    if (!one.repository->wants_checkpoint()) return false;
    const bool was_replaced = one.repository->was_replaced();
    if (was_replaced) {
      one.repository->remove_leftovers();
    } else {
      one.repository->checkpoint();
    }
    return was_replaced;
  });
}

Result<void> RepositoryCache::check_exists(const std::filesystem::path& folder,
                                           const repository::RepositoryName& name) {
  if (std::ranges::find(entries_, name.str(), &Entry::key) != entries_.end()) return {};
  QUARRY_TRY(repository::locate(folder, name));
  return {};
}

}  // namespace quarry::worker
