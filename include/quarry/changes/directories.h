// The folders of a queue, which are all that is kept of it. BASE is FILE.changes beside FILE.fossil,
// unless it is told otherwise.
//
//   BASE/tmp/            what is being written; nothing in it counts
//   BASE/data/           NAME: the tarball; NAME.submission: who submitted it, and from where
//   BASE/prequeue/ …     the job files, a folder for each stage (job.h)
//   BASE/log/            CSID: what is known of a change set, for people and for look-ups
//   BASE/ctrl/           pid files and FIFOs of the daemons (triggers.h), frozen branches, notes
//                        between them and others
//
// A job file is in exactly one of the folders of stages at every moment, and after every crash:
//
//   1. the file with what is new in it is written to tmp/ and synced;
//   2. it is renamed over the job file, where that lies;
//   3. one rename(2) moves it on; both folders are synced.
//
// Several that move at the same time take each of these steps together (joint_move.h). What has to be
// durable when:
//
//   a submission      before whoever sent it is told: tarball, submission and the name in prequeue/
//   a job file        before it is renamed: it is never empty or half of one
//   a move            some time later (settle()): a job that a machine's end puts back into the
//                     folder that it came from is decided on again, and with the same outcome
//   pending/ to run/  never: as a move; it is written with the next one
//   what has landed   by the repository's transaction, in which its name is a tag: where the move
//                     to done/ is forgotten it is executed again, and found to have landed
//
// Who changes or moves a job holds the lock of its file, and keeps it through the renames (Hold). A
// file that is empty in prequeue/ is a job to be made of its tarball; nobody else has it in hand.
//
// Workers use this too: to submit, and to look.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
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

/// Behind the name of a change set, in tmp/: what was read of its tarball (tarball.h).
inline constexpr std::string_view kKeptContent = ".content";

/// Who submitted a change set, as its server saw him. Each line of the text is "WORD REST".
struct Submission {
  std::string submitter;
  std::string capabilities;
  std::string address;
  base::UnixMillis time;

  static base::Result<Submission> parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const Submission&, const Submission&) = default;
};

/// Where a job is.
struct JobLocation {
  Stage stage = Stage::kPrequeue;
  ChangeSetName name;

  friend bool operator==(const JobLocation&, const JobLocation&) = default;
};

/// The order in which jobs go: by move type, then by time, then by id.
bool goes_before(const ChangeSetName& a, const ChangeSetName& b);

/// That no change set of ID, or of the digits that it begins with, is there.
base::Error not_here(std::string_view id);

class JobLock;

class Directories {
 public:
  /// FILES must outlive it.
  Directories(base::FileSystem& files, std::filesystem::path base);

  /// Makes the folders that are not there.
  base::Result<void> make();

  const std::filesystem::path& base() const { return base_; }
  std::filesystem::path folder(Stage stage) const { return base_ / word_of(stage); }
  std::filesystem::path file_of(Stage stage, const ChangeSetName& name) const;
  std::filesystem::path tarball_of(const ChangeSetName& name) const;
  std::filesystem::path log_of(const ChangeSetId& id) const;
  std::filesystem::path control(std::string_view name) const { return base_ / "ctrl" / name; }
  base::FileSystem& files() const { return files_; }

  // Submitting

  /// A file in tmp/ for the tarball of NAME. Errors: kBusy: the name is taken; those of files.
  base::Result<std::unique_ptr<base::File>> begin(const ChangeSetName& name);
  /// FILE, of begin(), is whole: it becomes durable, and a change set to be looked at. Whoever is
  /// to do so is for the caller to wake (triggers.h). After an error nothing is left of it.
  base::Result<void> submit(const ChangeSetName& name, std::unique_ptr<base::File> file,
                            const Submission& submission);
  /// Removes what begin() made of a change set that is not submitted after all.
  void give_up(const ChangeSetName& name);
  base::Result<Submission> submission_of(const ChangeSetName& name) const;

  // Looking

  /// The jobs of STAGE, in the order in which they go.
  base::Result<std::vector<ChangeSetName>> list(Stage stage) const;
  /// Errors: kNotFound: it is in another folder by now; kCorrupt: it is no job file; kBusy: it is
  /// empty: a change set that was not looked at yet.
  base::Result<Job> read(Stage stage, const ChangeSetName& name) const;
  /// Where the change set of ID is. It may move on at once.
  base::Result<std::optional<JobLocation>> find(const ChangeSetId& id) const;
  /// Those whose ids begin with DIGITS: people name as much as they like to type.
  base::Result<std::vector<JobLocation>> find_all(std::string_view digits) const;

  /// Whether the job of NAME is in any folder.
  base::Result<bool> is_there(const ChangeSetName& name) const;

  // Changing

  /// Locks a job. Errors: kBusy: somebody else has it; kNotFound, kCorrupt as read(), but an empty
  /// file is no error: the job then has its name alone.
  base::Result<JobLock> lock_job(Stage stage, const ChangeSetName& name);
  /// Moves a file that is no job (kCorrupt) and never will be one from STAGE to fail/, as it is.
  base::Result<void> put_aside(Stage stage, const ChangeSetName& name);
  /// Syncs the folders of the moves that were made with Syncing::kLater.
  base::Result<void> sync_folders();

  /// Removes all that is kept of those at PLACES, which are over, but for those that somebody has in
  /// hand, that are elsewhere by now, or have come where they are at or after BEFORE. The job files
  /// go first, for good. Returns who is gone.
  base::Result<std::vector<ChangeSetId>> forget(const std::vector<JobLocation>& places,
                                                base::UnixMillis before);

  /// What crashed processes left: removes old files from tmp/, tarballs that were never submitted,
  /// and the older of two files of one job (where a file system does not keep the order of renames,
  /// a machine that stops can leave them). Others may move jobs meanwhile.
  base::Result<void> recover(base::UnixMillis now);

 private:
  friend class JobLock;
  base::Result<std::unique_ptr<base::File>> lock(const std::filesystem::path& path);
  base::Result<void> recover_twins();
  base::Result<void> recover_twin(const ChangeSetName& name, Stage first, Stage second);
  base::Result<void> remove_old(std::string_view folder, base::UnixMillis before,
                                const std::set<std::string, std::less<>>& kept);

  base::FileSystem& files_;
  std::filesystem::path base_;
  std::array<bool, kStages> unsynced_{};
};

enum class Syncing : std::uint8_t {
  kNow,
  kLater,  // by settle(); the file itself is synced
  kNever,  // the file goes as it is: its line of history is written with the next move
};

/// A job that nobody else changes or moves.
class JobLock {
 public:
  /// As it was read; to be changed at will before update() or move().
  Job job;

  Stage stage() const { return stage_; }
  /// The file is empty: the job is to be made of its tarball.
  bool is_new() const { return is_new_; }

  /// The job file becomes what the job is now, where it lies.
  base::Result<void> update();
  /// The same with a line of history, and it goes to TO. Errors: those of files; the job is where it
  /// was then, or where it was to go, but in one folder.
  base::Result<void> move(Stage to, base::UnixMillis now, std::string_view why,
                          Syncing syncing = Syncing::kNow);

 private:
  friend class Directories;
  friend class JointMove;
  JobLock(Directories& directories, Stage stage, std::unique_ptr<base::File> lock)
      : directories_(&directories), stage_(stage), lock_(std::move(lock)) {}
  void note_move(Stage to, base::UnixMillis now, std::string_view why);
  std::filesystem::path temporary() const;
  base::Result<std::unique_ptr<base::File>> write() const;
  base::Result<void> put_in_place(std::unique_ptr<base::File> file);
  base::Result<void> rewrite();
  base::Result<void> go(Stage to, bool sync_later);
  base::Result<void> sync(Stage from);

  Directories* directories_;
  Stage stage_;
  bool is_new_ = false;
  std::unique_ptr<base::File> lock_;
};

}  // namespace quarry::changes
