// The folders of a queue, which contain all of its state. By default, BASE is FILE.changes next to
// FILE.fossil.
//
//   BASE/tmp/            files that are being written
//   BASE/data/           NAME: the tarball; NAME.submission: the submitter and the address. If
//                        the owner of the queue has put the tarball there, NAME.submission does not
//                        exist, and EXTRA in NAME is the submitter
//   BASE/prequeue/ …     the job files, in one folder for each stage (job.h)
//   BASE/log/            CSID: the log of a change set, for humans and for lookups
//   BASE/ctrl/           pid files and FIFOs of the daemons (triggers.h), frozen branches, notes
//                        between the daemons and other processes
//
// A job file is in exactly one of the stage folders at any time, even after a crash:
//
//   1. The new contents are written to a file in tmp/, and the file is synced.
//   2. This file is renamed over the job file, in its current folder.
//   3. One rename(2) moves the file to the next folder. Both folders are synced.
//
// Jobs that move together take each of these steps together (joint_move.h). Data becomes durable at
// the following times:
//
//   a submission      before the reply to the submitter: tarball, submission, name in prequeue/
//   a job file        before it is renamed, so the file is never empty or truncated
//   a move            some time later (sync_folders()). If a crash of the machine puts a job back
//                     into its previous folder, the decision is repeated with the same outcome
//   pending/ to run/  never; the move is written together with the next move
//   a landing         in the repository's transaction, which stores the id as a tag. If the move to
//                     done/ is lost, the job is executed again, and the executor finds the tag
//
// A process that changes or moves a job holds the lock of its file during all these steps
// (JobLock). An empty file in prequeue/ represents a job that has not been created from its tarball
// yet.
//
// Workers also use these functions, to submit change sets and to read the queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/change_set.h"
#include "quarry/changes/job.h"

namespace quarry::changes {

/// Suffix of a file in tmp/ that caches the contents of a change set's tarball (tarball.h).
inline constexpr std::string_view kKeptContent = ".content";
/// Prefix of a file in ctrl/ that requests the diff of a change set (change_set_diff.h).
inline constexpr std::string_view kDiffRequest = "diff.";
inline constexpr std::size_t kMaxDiff = std::size_t{512} << 10;  // bytes

/// Returns whether ERROR means that this user may not use a job file, or that the file is not a
/// regular file. Such a file stays until an administrator changes it.
inline bool is_unusable(const Error& error) {
  return error.code == ErrorCode::kDenied || error.code == ErrorCode::kInvalid;
}

/// The submitter of a change set, as determined by the server. Each line of the text form is "WORD
/// REST".
struct Submission {
  std::string submitter;
  std::string capabilities;
  std::string address;
  base::UnixMillis time;
  std::optional<std::int64_t> receipt = {};  // last receipt of the repository at `time`
  /// Whether the submitter is a user of this machine who has access to the queue's folders.
  /// Otherwise, the submitter is a user of the repository.
  bool is_local = false;

  static Result<Submission> parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const Submission&, const Submission&) = default;
};

struct JobLocation {
  Stage stage = Stage::kPrequeue;
  ChangeSetName name;

  friend bool operator==(const JobLocation&, const JobLocation&) = default;
};

/// Returns whether A is executed before B: compares the move types, then the times, then the ids.
bool goes_before(const ChangeSetName& a, const ChangeSetName& b);

/// Returns the error for an id, or a prefix of an id, that does not match any change set.
Error not_here(std::string_view id);

class JobLock;

class Directories {
 public:
  /// FILES must outlive this object.
  Directories(base::FileSystem& files, std::filesystem::path base);

  /// Creates missing folders.
  Result<void> make();

  const std::filesystem::path& base() const { return base_; }
  std::filesystem::path folder(Stage stage) const { return base_ / folder_of(stage); }
  std::filesystem::path file_of(Stage stage, const ChangeSetName& name) const;
  std::filesystem::path tarball_of(const ChangeSetName& name) const;
  std::filesystem::path log_of(const ChangeSetId& id) const;
  /// Returns the path of the cached diff (change_set_diff.h).
  std::filesystem::path diff_of(const ChangeSetName& name) const;
  std::filesystem::path control(std::string_view name) const { return base_ / "ctrl" / name; }
  base::FileSystem& files() const { return files_; }

  /// Returns the content of the file at PATH, or the first LIMIT bytes of it.
  Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) const;
  /// Replaces the file at PATH atomically, through a file in tmp/. If IS_DURABLE is set, syncs the
  /// new file to disk.
  Result<void> replace_file(const std::filesystem::path& path, std::string_view text,
                            bool is_durable = false) const;

  // Submitting

  /// Creates a file in tmp/ for the tarball of NAME. Errors: kBusy (the name is taken), errors from
  /// file operations.
  Result<std::unique_ptr<base::File>> begin(const ChangeSetName& name);
  /// Submits the change set NAME and makes it durable. FILE was returned by begin(), and contains
  /// the complete tarball. The caller then wakes the prequeue daemon (triggers.h). After an error,
  /// no files are left behind.
  Result<void> submit(const ChangeSetName& name, std::unique_ptr<base::File> file,
                      const Submission& submission);
  /// Removes the file that begin() created, for a change set that is not submitted after all.
  void give_up(const ChangeSetName& name);
  Result<Submission> submission_of(const ChangeSetName& name) const;

  // Reading

  /// Returns the jobs in STAGE, in order of execution.
  Result<std::vector<ChangeSetName>> list(Stage stage) const;
  /// Reads the job NAME. Errors: kNotFound (the job has moved to another folder), kCorrupt (not a
  /// job file), kBusy (the file is empty because the change set has not been checked yet).
  Result<Job> read(Stage stage, const ChangeSetName& name) const;
  /// Finds the change set ID, even if it is being moved. Returns nullopt if it does not exist.
  Result<std::optional<JobLocation>> find(const ChangeSetId& id) const;
  /// Returns the change sets whose ids begin with DIGITS.
  Result<std::vector<JobLocation>> find_all(std::string_view digits) const;

  /// Returns the stage of the job NAME, or nullopt if it is not in any folder. Faster than find().
  Result<std::optional<Stage>> stage_of(const ChangeSetName& name) const;

  // Changing

  /// Locks a job. Errors: kBusy (another process has the lock), kNotFound and kCorrupt as for
  /// read(). An empty file is not an error: the returned job then has only its name and move type.
  Result<JobLock> lock_job(Stage stage, const ChangeSetName& name);
  /// Moves the file NAME from STAGE to fail/ without changing it. Call this function for files that
  /// are not valid jobs (kCorrupt).
  Result<void> put_aside(Stage stage, const ChangeSetName& name);
  /// Syncs all folders from which or into which JointMove has moved jobs.
  Result<void> sync_folders();

  /// Deletes the finished jobs at LOCATIONS with all their files. Skips jobs that are locked, that
  /// have moved, or that reached their stage at or after BEFORE. Deletes the job files first, and
  /// syncs this deletion. Returns the deleted ids.
  Result<std::vector<ChangeSetId>> forget(const std::vector<JobLocation>& locations,
                                          base::UnixMillis before);

  /// Cleans up after crashes: removes old files from tmp/, tarballs that were never submitted, and,
  /// if a job has two files, the older one. (A crash of the machine can leave two files if the file
  /// system does not preserve the order of renames.) Other processes may move jobs at the same
  /// time.
  Result<void> recover(base::UnixMillis now);

 private:
  friend class JobLock;
  friend class JointMove;
  Result<std::unique_ptr<base::File>> lock(const std::filesystem::path& path);
  Result<void> recover_twins();
  Result<void> recover_twin(const ChangeSetName& name, Stage first, Stage second);
  Result<void> remove_old(std::string_view folder, base::UnixMillis before,
                          const std::set<std::string, std::less<>>& kept);

  base::FileSystem& files_;
  std::filesystem::path base_;
  std::array<bool, kStages> unsynced_{};
};

/// A job whose file this process has locked. Until the lock is released, other processes do not
/// change or move the job.
class JobLock {
 public:
  /// The job as it was read. Can be changed before update() or move().
  Job job;

  Stage stage() const { return stage_; }
  /// Returns whether the file is empty, because the job has not been created from its tarball yet.
  bool is_new() const { return is_new_; }

  /// Writes the job to its file, in its current folder.
  Result<void> update();
  /// Adds a line to the job's history, writes the job file, and moves the file to the folder of TO.
  /// If a file operation fails, the job file is either in its old folder or in the folder of TO,
  /// but never in both.
  Result<void> move(Stage to, base::UnixMillis now, std::string_view why);
  /// Like move(), but moves the job file without writing or syncing it. The line of history is
  /// written to the file at the next move.
  Result<void> move_unwritten(Stage to, base::UnixMillis now, std::string_view why);

 private:
  friend class Directories;
  friend class JointMove;
  JobLock(Directories& directories, Stage stage, std::unique_ptr<base::File> lock)
      : directories_(&directories), stage_(stage), lock_(std::move(lock)) {}
  void note_move(Stage to, base::UnixMillis now, std::string_view why);
  std::filesystem::path temporary() const;
  Result<std::unique_ptr<base::File>> write() const;
  Result<void> put_in_place(std::unique_ptr<base::File> file);
  Result<void> rewrite();
  Result<void> go(Stage to);
  Result<void> sync(Stage from);

  Directories* directories_;
  Stage stage_;
  bool is_new_ = false;
  std::unique_ptr<base::File> lock_;
};

/// Submits a change set of TYPE to DIRECTORIES, and wakes the prequeue daemon. Creates missing
/// folders. WRITE has to write the tarball to the file that is passed to it. Returns the name of
/// the change set. Passes on errors from WRITE and file operations. After an error, no files are
/// left behind.
Result<ChangeSetName> submit(Directories& directories, MoveType type, const Submission& submission,
                             const std::function<Result<void>(base::File& file)>& write);
/// Creates missing folders of a queue. Several processes may call this function at the same time.
Result<void> make_folders(Directories& directories);

}  // namespace quarry::changes
