#include "quarry/changes/directories.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace quarry::changes {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSubmission = ".submission";
constexpr std::string_view kJobBeingWritten = ".job";
constexpr std::string_view kDiff = ".diff";
constexpr std::size_t kMaxSubmissionFile = std::size_t{16} << 10;
// Age in milliseconds after which unused files are deleted.
constexpr std::int64_t kForgotten = std::int64_t{24} * 3600 * 1000;

/// Returns the name of the change set to which FILE belongs, or nullopt if FILE does not belong to
/// a change set.
std::optional<ChangeSetName> name_of_file(std::string_view file) {
  for (const std::string_view suffix : {kSubmission, kJobBeingWritten, kKeptContent, kDiff}) {
    if (file.ends_with(suffix)) file.remove_suffix(suffix.size());
  }
  return ChangeSetName::parse(file);
}

/// Returns the content of FILE, or the first LIMIT bytes of it.
Result<std::string> content_of(base::File& file, std::size_t limit) {
  QUARRY_TRY_ASSIGN(const std::uint64_t size, file.size());
  std::string content(std::min<std::uint64_t>(size, limit), '\0');
  QUARRY_TRY_ASSIGN(const std::size_t read, file.read_at(0, content));
  content.resize(read);
  return content;
}

/// Parses the job file of NAME. Returns nullopt if the file is empty.
Result<std::optional<Job>> job_in(base::File& file, const ChangeSetName& name,
                                  const fs::path& path) {
  // Read one byte more than is allowed, so that Job::parse() rejects a file that is too long.
  auto content = content_of(file, kMaxJob + 1);
  if (content && content->empty()) return std::nullopt;
  if (content) {
    auto job = Job::parse(name, *content);
    if (job) return std::move(*job);
    content = std::unexpected(job.error());
  }
  return fail(content.error().code == ErrorCode::kIo ? ErrorCode::kIo : ErrorCode::kCorrupt,
              path.string() + ": " + content.error().message);
}

}  // namespace

bool goes_before(const ChangeSetName& a, const ChangeSetName& b) {
  return std::tie(a.type, a.tai, a.id) < std::tie(b.type, b.tai, b.id);
}

Error not_here(std::string_view id) {
  return {.code = ErrorCode::kNotFound,
          .message = fmt::format("change set {} does not exist or has been deleted", id)};
}

Directories::Directories(base::FileSystem& files, fs::path base)
    : files_(files), base_(std::move(base)) {}

Result<void> Directories::make() {
  QUARRY_TRY(files_.make_folder(base_));
  for (const std::string_view name : {"tmp", "data", "log", "ctrl"}) {
    QUARRY_TRY(files_.make_folder(base_ / name));
  }
  for (std::size_t i = 0; i < kStages; ++i) {
    QUARRY_TRY(files_.make_folder(folder(static_cast<Stage>(i))));
  }
  return files_.sync_directory(base_);
}

fs::path Directories::file_of(Stage stage, const ChangeSetName& name) const {
  return folder(stage) / name.text();
}

fs::path Directories::tarball_of(const ChangeSetName& name) const {
  return base_ / "data" / name.text();
}

fs::path Directories::diff_of(const ChangeSetName& name) const {
  return base_ / "data" / (name.text() + std::string(kDiff));
}

fs::path Directories::log_of(const ChangeSetId& id) const {
  return base_ / "log" / id.str();
}

Result<std::string> Directories::read_file(const fs::path& path, std::size_t limit) const {
  QUARRY_TRY_ASSIGN(const auto file, files_.open(path, base::FileUse::kRead));
  return content_of(*file, limit);
}

Result<void> Directories::replace_file(const fs::path& path, std::string_view text,
                                       bool is_durable) const {
  const fs::path temporary = base_ / "tmp" / path.filename();
  QUARRY_TRY_ASSIGN(const auto file, files_.open(temporary, base::FileUse::kOpenOrMake));
  QUARRY_TRY(file->truncate(0));
  QUARRY_TRY(file->append(text));
  if (is_durable) QUARRY_TRY(file->sync());
  QUARRY_TRY(files_.rename(temporary, path));
  return is_durable ? files_.sync_directory(path.parent_path()) : Result<void>();
}

Result<std::unique_ptr<base::File>> Directories::begin(const ChangeSetName& name) {
  return files_.open(base_ / "tmp" / name.text(), base::FileUse::kMake);
}

Result<void> Directories::submit(const ChangeSetName& name, std::unique_ptr<base::File> file,
                                 const Submission& submission) {
  const fs::path data = base_ / "data", tmp = base_ / "tmp";
  const std::string second = name.text() + std::string(kSubmission);
  bool is_made = false;
  const auto publish = [&]() -> Result<void> {
    QUARRY_TRY_ASSIGN(const auto text, files_.open(tmp / second, base::FileUse::kOpenOrMake));
    QUARRY_TRY(text->truncate(0));
    QUARRY_TRY(text->append(submission.text()));
    QUARRY_TRY(files_.sync_all(std::array{file.get(), text.get()}));
    QUARRY_TRY(files_.rename(tmp / second, data / second));
    QUARRY_TRY(files_.rename(tmp / name.text(), tarball_of(name)));
    QUARRY_TRY(files_.sync_directory(data));
    QUARRY_TRY(files_.open(file_of(Stage::kPrequeue, name), base::FileUse::kMake));
    is_made = true;
    return files_.sync_directory(folder(Stage::kPrequeue));
  };
  auto published = publish();
  if (published) return {};
  // Delete the other files only if no daemon has taken the job. If the job file was created and is
  // now missing, a daemon has moved it to another folder.
  const auto removed = files_.remove(file_of(Stage::kPrequeue, name));
  const bool is_taken = is_made && !removed && removed.error().code == ErrorCode::kNotFound;
  if (!is_taken) give_up(name);
  return published;
}

void Directories::give_up(const ChangeSetName& name) {
  // The job file is deleted first, so that no process searches for a missing tarball. If other
  // files cannot be deleted now, recover() deletes them later.
  const std::string submission = name.text() + std::string(kSubmission);
  for (const fs::path& path :
       {file_of(Stage::kPrequeue, name), tarball_of(name), base_ / "data" / submission,
        base_ / "tmp" / submission, base_ / "tmp" / name.text()}) {
    [[maybe_unused]] const auto removed = files_.remove(path);
  }
}

Result<Submission> Directories::submission_of(const ChangeSetName& name) const {
  const fs::path path = base_ / "data" / (name.text() + std::string(kSubmission));
  const auto text = read_file(path, kMaxSubmissionFile);
  if (text) return Submission::parse(*text);
  if (text.error().code != ErrorCode::kNotFound || name.extra.empty()) {
    return std::unexpected(text.error());
  }
  // The owner of the queue has put the tarball into data/. The owner has all rights.
  return Submission{.submitter = name.extra,
                    .capabilities = "s",
                    .address = "localhost",
                    .time = time_of_tai64n(name.tai),
                    .is_local = true};
}

Result<std::vector<ChangeSetName>> Directories::list(Stage stage) const {
  QUARRY_TRY_ASSIGN(const auto files, files_.list(folder(stage)));
  std::vector<ChangeSetName> names;
  names.reserve(files.size());
  for (const std::string& file : files) {
    if (auto name = ChangeSetName::parse(file)) names.push_back(std::move(*name));
  }
  std::ranges::sort(names, goes_before);
  return names;
}

Result<Job> Directories::read(Stage stage, const ChangeSetName& name) const {
  const fs::path path = file_of(stage, name);
  QUARRY_TRY_ASSIGN(const auto file, files_.open(path, base::FileUse::kRead));
  QUARRY_TRY_ASSIGN(auto job, job_in(*file, name, path));
  if (job) return std::move(*job);
  return fail(ErrorCode::kBusy, path.string() + ": not checked yet");
}

Result<std::vector<JobLocation>> Directories::find_all(std::string_view digits) const {
  std::map<ChangeSetId, JobLocation> found;
  // The folders are read in the order in which jobs move, so that every job is found. If a job is
  // found twice, its later location is the current one.
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    QUARRY_TRY_ASSIGN(const auto files, files_.list(folder(stage)));
    for (const std::string& file : files) {
      if (!file.starts_with(digits)) continue;
      auto name = ChangeSetName::parse(file);
      if (!name) continue;
      const ChangeSetId id = name->id;
      found.insert_or_assign(id, JobLocation{.stage = stage, .name = std::move(*name)});
    }
  }
  std::vector<JobLocation> locations;
  locations.reserve(found.size());
  for (auto& [id, location] : found) locations.push_back(std::move(location));
  return locations;
}

Result<std::optional<JobLocation>> Directories::find(const ChangeSetId& id) const {
  // A search can miss a job that moves to an earlier stage (retry, recovery) at the same time, so
  // search twice.
  for (int attempt = 0; attempt < 2; ++attempt) {
    QUARRY_TRY_ASSIGN(auto locations, find_all(id.str()));
    if (!locations.empty()) return std::move(locations.front());
  }
  return std::nullopt;
}

Result<std::optional<Stage>> Directories::stage_of(const ChangeSetName& name) const {
  // Search twice, as in find(). The folders are read in the order in which jobs move. If the job is
  // found twice, the later stage is the current one.
  std::optional<Stage> found;
  for (int attempt = 0; attempt < 2 && !found; ++attempt) {
    for (std::size_t i = 0; i < kStages; ++i) {
      const auto stage = static_cast<Stage>(i);
      const auto file = files_.open(file_of(stage, name), base::FileUse::kRead);
      if (file) found = stage;
      if (!file && file.error().code != ErrorCode::kNotFound) return std::unexpected(file.error());
    }
  }
  return found;
}

Result<std::unique_ptr<base::File>> Directories::lock(const fs::path& path) {
  QUARRY_TRY_ASSIGN(auto file, files_.open(path, base::FileUse::kAppend));
  QUARRY_TRY_ASSIGN(const bool is_locked, file->try_lock());
  if (!is_locked) return fail(ErrorCode::kBusy, path.string() + ": locked by another process");
  // Check the name after locking, because another process might have replaced or moved the file
  // before it was locked.
  QUARRY_TRY_ASSIGN(const bool has_name, file->has_name());
  if (!has_name) return fail(ErrorCode::kNotFound, path.string() + ": moved by another process");
  return file;
}

Result<void> Directories::put_aside(Stage stage, const ChangeSetName& name) {
  QUARRY_TRY_ASSIGN(const auto file, lock(file_of(stage, name)));
  QUARRY_TRY(files_.rename(file_of(stage, name), file_of(Stage::kFail, name)));
  QUARRY_TRY(files_.sync_directory(folder(Stage::kFail)));
  return files_.sync_directory(folder(stage));
}

Result<JobLock> Directories::lock_job(Stage stage, const ChangeSetName& name) {
  const fs::path path = file_of(stage, name);
  QUARRY_TRY_ASSIGN(auto file, lock(path));
  QUARRY_TRY_ASSIGN(auto job, job_in(*file, name, path));
  JobLock job_lock(*this, stage, std::move(file));
  job_lock.is_new_ = !job;
  if (job) {
    job_lock.job = std::move(*job);
  } else {
    job_lock.job.name = name;
    job_lock.job.meta.type = name.type;
  }
  return job_lock;
}

Result<void> Directories::sync_folders() {
  std::vector<fs::path> folders;
  for (std::size_t i = 0; i < kStages; ++i) {
    if (unsynced_[i]) folders.push_back(folder(static_cast<Stage>(i)));
  }
  QUARRY_TRY(files_.sync_directories(folders));
  unsynced_.fill(false);
  return {};
}

Result<std::vector<ChangeSetId>> Directories::forget(const std::vector<JobLocation>& locations,
                                                     base::UnixMillis before) {
  std::vector<const JobLocation*> gone;
  for (const JobLocation& location : locations) {
    const auto held = lock_job(location.stage, location.name);
    if (!held || !is_over(location.stage) || held->job.ended() >= before) continue;
    QUARRY_TRY(files_.remove(file_of(location.stage, location.name)));
    unsynced_[static_cast<std::size_t>(location.stage)] = true;
    gone.push_back(&location);
  }
  // Sync the deletions of the job files first, so that a job that still exists after a crash of the
  // machine has all its other files.
  QUARRY_TRY(sync_folders());
  std::vector<ChangeSetId> ids;
  for (const JobLocation* location : gone) {
    const fs::path submission = base_ / "data" / (location->name.text() + std::string(kSubmission));
    for (const fs::path& path : {tarball_of(location->name), submission, log_of(location->name.id),
                                 diff_of(location->name)}) {
      const auto removed = files_.remove(path);
      if (!removed && removed.error().code != ErrorCode::kNotFound) {
        return std::unexpected(removed.error());
      }
    }
    ids.push_back(location->name.id);
  }
  return ids;
}

Result<void> Directories::recover(base::UnixMillis now) {
  QUARRY_TRY(recover_twins());
  std::set<std::string, std::less<>> jobs;
  for (std::size_t i = 0; i < kStages; ++i) {
    QUARRY_TRY_ASSIGN(const auto names, files_.list(folder(static_cast<Stage>(i))));
    jobs.insert(names.begin(), names.end());
  }
  const base::UnixMillis before{now.value - kForgotten};
  QUARRY_TRY(remove_old("tmp", before, {}));
  return remove_old("data", before, jobs);
}

/// Removes files in FOLDER whose names contain times before BEFORE, unless they are in KEPT.
Result<void> Directories::remove_old(std::string_view folder, base::UnixMillis before,
                                     const std::set<std::string, std::less<>>& kept) {
  QUARRY_TRY_ASSIGN(const auto files, files_.list(base_ / folder));
  for (const std::string& file : files) {
    const auto name = name_of_file(file);
    if (!name || time_of_tai64n(name->tai) >= before || kept.contains(name->text())) continue;
    // Search for the job again, because a retry might have moved it to a folder that was read
    // earlier.
    QUARRY_TRY_ASSIGN(const auto stage, folder == "data" ? stage_of(*name) : std::nullopt);
    if (stage) continue;
    const auto removed = files_.remove(base_ / folder / file);
    if (!removed && removed.error().code != ErrorCode::kNotFound) return removed;
  }
  return {};
}

/// Removes the older of two files of the job NAME. If another process has locked or moved either
/// file, does nothing, because the job is being moved.
Result<void> Directories::recover_twin(const ChangeSetName& name, Stage first, Stage second) {
  const auto one = lock_job(first, name), other = lock_job(second, name);
  const auto is_moving = [](const Result<JobLock>& lock) {
    return !lock && lock.error().code != ErrorCode::kCorrupt;
  };
  if (is_moving(one) || is_moving(other)) return {};
  const bool is_second_later =
      !one || (other && other->job.history.size() >= one->job.history.size());
  const Stage older = is_second_later ? first : second;
  QUARRY_TRY(files_.remove(file_of(older, name)));
  return files_.sync_directory(folder(older));
}

Result<void> Directories::recover_twins() {
  std::map<std::string, Stage> seen;
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    QUARRY_TRY_ASSIGN(const auto names, list(stage));
    for (const ChangeSetName& name : names) {
      const auto [before, is_new] = seen.try_emplace(name.text(), stage);
      if (is_new) continue;
      QUARRY_TRY(recover_twin(name, before->second, stage));
      const auto file = files_.open(file_of(stage, name), base::FileUse::kRead);
      if (file) before->second = stage;
    }
  }
  return {};
}

}  // namespace quarry::changes
