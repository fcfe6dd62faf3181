#include "repositories.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <sstream>
#include <system_error>

#include "quarry/base/log.h"
#include "quarry/repository/repository_folder.h"

namespace quarry::replica {
namespace {

namespace fs = std::filesystem;
using base::LogLevel;
using repository::Repository;

constexpr std::size_t kMaxOpen = 64;
constexpr const char* kUnknown = "-";  // a digest in the state file

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::optional<FileState> file_state(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  FileState state{.device = status.st_dev,
                  .inode = status.st_ino,
                  .time = nanoseconds(status.st_mtim),
                  .size = status.st_size};
  // An empty log is the same as none, because opening and closing a repository creates and removes it.
  if (::stat((path.native() + "-wal").c_str(), &status) == 0 && status.st_size > 0) {
    state.log_time = nanoseconds(status.st_mtim);
    state.log_size = status.st_size;
  }
  return state;
}

Result<void> replace_file(const fs::path& path, std::string_view text) {
  const fs::path fresh = path.native() + ".new";
  {
    std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
    file << text;
    if (!file.flush()) return fail_errno("cannot write {}", fresh.string());
  }
  std::error_code error;
  fs::rename(fresh, path, error);
  if (error) {
    return fail(ErrorCode::kIo, "cannot replace {}: {}", path.string(), error.message());
  }
  return {};
}

Repositories::Repositories(const ReplicaOptions& options, std::size_t max_entry,
                           ReadPosition& position)
    : pools_(options.pools),
      host_(options.stream.host),
      since_(options.since),
      max_entry_(max_entry),
      open_(options.open),
      position_(position) {}

// --- the table -----------------------------------------------------------------------------------

void Repositories::load(const fs::path& state_file) {
  std::ifstream file(state_file);
  had_state_file_ = file.is_open();
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Saved saved;
    FileState& state = saved.state;
    std::string path;
    words >> state.device >> state.inode >> state.time >> state.size >> state.log_time >>
        state.log_size >> saved.needs_sync >> saved.digests.names >> saved.digests.rows >>
        saved.project;
    // A damaged line only means that its repository is examined.
    if (words.get() == ' ' && std::getline(words, path)) saved_.emplace(path, std::move(saved));
  }
}

Result<void> Repositories::save(const fs::path& state_file) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [path, one] : by_path_) {
      const Facts& facts = one->facts_;
      if (!facts.examined || facts.project.empty()) continue;
      const FileState& state = *facts.examined;
      const bool has_digests = facts.digested == facts.examined;
      text +=
          fmt::format("{} {} {} {} {} {} {:d} {} {} {} {}\n", state.device, state.inode, state.time,
                      state.size, state.log_time, state.log_size, facts.needs_sync,
                      has_digests ? facts.digests.names : kUnknown,
                      has_digests ? facts.digests.rows : kUnknown, facts.project, path.string());
    }
    if (text == last_saved_) return {};
    last_saved_ = text;
  }
  return replace_file(state_file, text);
}

/// Adds a file that is not in the table yet. mutex_ must be locked.
ReplicatedPtr Repositories::add(const Place& place) {
  const auto [at, is_new] = by_path_.try_emplace(place.path);
  if (!is_new) return at->second;
  const auto one = std::make_shared<Replicated>(place);
  at->second = one;
  const auto saved = saved_.find(place.path);
  if (saved == saved_.end()) {
    // Without a state file, the start cannot tell which files are new.
    one->facts_.is_new = was_listed_ || had_state_file_;
    one->facts_.is_first = !one->facts_.is_new;
    return one;
  }
  one->facts_.project = saved->second.project;
  one->facts_.needs_sync = saved->second.needs_sync;
  one->facts_.examined = saved->second.state;
  if (saved->second.digests.names != kUnknown) {
    one->facts_.digests = saved->second.digests;
    one->facts_.digested = saved->second.state;
  }
  by_project_.try_emplace(saved->second.project, one);
  saved_.erase(saved);
  return one;
}

void Repositories::list(const fs::path& state_file) {
  std::vector<fs::path> found;
  if (!was_listed_) load(state_file);
  for (const ReplicatedPool& pool : pools_) {
    if (!pool.is_folder) {
      const std::lock_guard lock(mutex_);
      add({pool.name, "", {}, pool.path});
      found.push_back(pool.path);
      continue;
    }
    const auto names = repository::names_below(pool.path);
    const std::lock_guard lock(mutex_);
    for (const auto& name : names.names) {
      found.push_back(pool.path / name.file());
      add({pool.name, name.str(), pool.path, found.back()});
    }
  }
  forget_removed(found);
  const std::lock_guard lock(mutex_);
  was_listed_ = true;
  saved_.clear();
}

void Repositories::forget_removed(const std::vector<fs::path>& found) {
  std::vector<fs::path> sorted = found;
  std::ranges::sort(sorted);
  const std::lock_guard lock(mutex_);
  std::erase_if(by_path_, [&](const auto& entry) {
    const auto& [path, one] = entry;
    if (std::ranges::binary_search(sorted, path) || file_state(path)) return false;
    const auto project = by_project_.find(one->facts_.project);
    if (project != by_project_.end() && project->second == one) by_project_.erase(project);
    open_ones_.remove(one);
    return true;
  });
}

Result<Place> Repositories::place(std::string_view pool, std::string_view name) const {
  const auto found = std::ranges::find(pools_, pool, &ReplicatedPool::name);
  if (found == pools_.end()) return fail(ErrorCode::kNotFound, "no such replicated pool");
  if (!found->is_folder && !name.empty()) {
    return fail(ErrorCode::kInvalid, "the pool {} has a single repository", found->name);
  }
  if (!found->is_folder) return Place{found->name, "", {}, found->path};
  const auto parsed = repository::RepositoryName::parse(name);
  if (!parsed) return fail(ErrorCode::kInvalid, "invalid name of a repository");
  return Place{found->name, parsed->str(), found->path, found->path / parsed->file()};
}

Result<ReplicatedPtr> Repositories::find(std::string_view pool, std::string_view name) {
  QUARRY_TRY_ASSIGN(const Place place, this->place(pool, name));
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = by_path_.find(place.path); at != by_path_.end() && !place.folder.empty())
      return at->second;
  }
  if (!place.folder.empty()) {
    QUARRY_TRY(repository::locate(place.folder, *repository::RepositoryName::parse(place.name)));
  } else if (!file_state(place.path)) {
    return fail(ErrorCode::kNotFound, "no such repository");
  }
  const std::lock_guard lock(mutex_);
  return add(place);
}

ReplicatedPtr Repositories::of_project(const std::string& project) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_project_.find(project);
  return found == by_project_.end() ? nullptr : found->second;
}

std::vector<ReplicatedPtr> Repositories::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<ReplicatedPtr> all;
  all.reserve(by_path_.size());
  for (const auto& [path, one] : by_path_) all.push_back(one);
  return all;
}

std::vector<ReplicatedPtr> Repositories::changed() const {
  std::vector<ReplicatedPtr> changed;
  for (ReplicatedPtr& one : all()) {
    const auto state = file_state(one->path);
    if (!state) continue;
    const std::lock_guard lock(mutex_);
    if (one->facts_.examined != state) changed.push_back(std::move(one));
  }
  return changed;
}

Facts Repositories::facts(const Replicated& one) const {
  const std::lock_guard lock(mutex_);
  return one.facts_;
}

void Repositories::change(Replicated& one, const std::function<void(Facts&)>& change) {
  const std::lock_guard lock(mutex_);
  change(one.facts_);
}

void Repositories::need_sync() {
  const std::lock_guard lock(mutex_);
  for (const auto& [path, one] : by_path_) one->facts_.need_sync();
}

// --- open repositories ---------------------------------------------------------------------------

Result<void> Repositories::use(const ReplicatedPtr& one, const Action& action) {
  Result<void> done;
  {
    const std::lock_guard lock(one->open_mutex_);
    try {
      done = use_locked(one, action);
    } catch (const std::exception& error) {
      done = fail(ErrorCode::kIo, error.what());
    }
    if (!done && !done.error().message.starts_with(one->path.native())) {
      done.error().message = fmt::format("{}: {}", one->path.string(), done.error().message);
    }
  }
  close_one_too_many();
  return done;
}

Result<void> Repositories::use_locked(const ReplicatedPtr& one, const Action& action) {
  QUARRY_TRY(open(one));
  {
    const std::lock_guard lock(mutex_);
    open_ones_.remove(one);
    open_ones_.push_front(one);
  }
  return action(*one->replication_);
}

/// Closes the least recently used repository if there are too many. No other lock may be held,
/// because closing waits for the disk.
void Repositories::close_one_too_many() {
  ReplicatedPtr oldest;
  {
    const std::lock_guard lock(mutex_);
    if (open_ones_.size() <= kMaxOpen) return;
    oldest = open_ones_.back();
    open_ones_.pop_back();
  }
  const std::unique_lock lock(oldest->open_mutex_, std::try_to_lock);
  if (lock && record_progress(*oldest)) {
    close(*oldest);
  } else {
    const std::lock_guard table(mutex_);
    open_ones_.push_front(oldest);
  }
}

void Repositories::close(Replicated& one) {
  one.replication_.reset();
  one.repository_.reset();
}

/// Returns false after an error. one.open_mutex_ must be locked.
bool Repositories::record_progress(Replicated& one) {
  if (!one.replication_) return true;
  if (!one.replication_->record_progress()) return false;
  position_.recorded(facts(one).project);
  return true;
}

void Repositories::record_progress() {
  std::list<ReplicatedPtr> ones;
  {
    const std::lock_guard lock(mutex_);
    ones = open_ones_;
  }
  for (const ReplicatedPtr& one : ones) {
    const std::unique_lock lock(one->open_mutex_, std::try_to_lock);
    // After an error, the next call tries again.
    if (lock) static_cast<void>(record_progress(*one));
  }
}

void Repositories::keep_log_short(const ReplicatedPtr& one) {
  const std::lock_guard lock(one->open_mutex_);
  if (one->repository_) one->repository_->keep_log_short();
}

Result<void> Repositories::open(const ReplicatedPtr& one) {
  std::unique_ptr<Repository>& opened = one->repository_;
  if (opened) {
    const bool was_replaced = opened->was_replaced();
    if (!was_replaced && !opened->became_writable() && owns_project(one)) return {};
    if (was_replaced) {
      opened->remove_leftovers();
      change(*one, [](Facts& facts) { facts.is_new = true; });
    }
    close(*one);
  }
  std::optional<repository::LocatedFile> located;
  if (!one->folder.empty()) {
    const auto name = repository::RepositoryName::parse(one->name);
    QUARRY_TRY_ASSIGN(located, repository::locate(one->folder, *name));
  }
  QUARRY_TRY_ASSIGN(opened, Repository::open(one->path, open_));
  // SQLite opens by path, so check that it opened the file that locate() found inside the folder.
  if (located && (!located->is_same_now() || opened->was_replaced())) {
    opened.reset();
    return fail(ErrorCode::kBusy, "the repository is being replaced");
  }
  opened->bound_by([this] { return is_stopping_.load(); });
  const auto introduced = introduce(one);
  if (!introduced) close(*one);
  return introduced;
}

/// Reads the project and the position of the repository that was just opened.
Result<void> Repositories::introduce(const ReplicatedPtr& one) {
  sync::Replication& replication = one->replication_.emplace(*one->repository_, max_entry_);
  QUARRY_TRY_ASSIGN(const std::string project, replication.project());
  if (project.empty())
    return fail(ErrorCode::kInvalid, "the repository does not have a project code yet");
  QUARRY_TRY(claim(one, project));
  QUARRY_TRY(replication.prepare(position_.start_of(project), host_, since_));
  QUARRY_TRY_ASSIGN(const sync::ReplicaPosition position, replication.position());
  bool is_new = false;
  change(*one, [&](Facts& facts) {
    is_new = std::exchange(facts.is_new, false);
    facts.position = position;
    facts.was_opened = true;
  });
  position_.opened(project, position, is_new);
  return {};
}

bool Repositories::owns_project(const ReplicatedPtr& one) const {
  const std::lock_guard lock(mutex_);
  const auto owner = by_project_.find(one->facts_.project);
  return owner != by_project_.end() && owner->second == one;
}

/// Makes ONE the repository of PROJECT on this host. If several files have the same project, the
/// first in alphabetical order wins at the first start, and later the one that is already replicated.
Result<void> Repositories::claim(const ReplicatedPtr& one, const std::string& project) {
  const std::lock_guard lock(mutex_);
  std::string& current = one->facts_.project;
  const auto old = by_project_.find(current);
  if (current != project && old != by_project_.end() && old->second == one) by_project_.erase(old);
  current = project;
  const auto [owner, is_new] = by_project_.try_emplace(project, one);
  Replicated& other = *owner->second;
  if (owner->second != one && one->facts_.is_first && other.facts_.is_first &&
      one->path < other.path) {
    owner->second = one;
  }
  if (owner->second != one) {
    current.clear();
    return fail(ErrorCode::kConflict,
                "not replicated, because {} is a repository of the same project",
                owner->second->path.string());
  }
  return {};
}

}  // namespace quarry::replica
