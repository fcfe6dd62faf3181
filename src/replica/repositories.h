// The replicated repositories of this host. Only some of them are open at the same time. The others
// are known by their path and by the state of their file at the time when they were last examined.
//
// The file `repositories` in the folder of the process keeps these states, so a start opens only the
// repositories that have changed meanwhile. One line each:
//
//   DEVICE INODE TIME SIZE LOG-TIME LOG-SIZE NEEDS-SYNC NAMES ROWS PROJECT PATH
//
// NAMES and ROWS are the digests of the contents in this state, or `-` if they are not known.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/replica/replica.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/replication.h"

namespace quarry::replica {

/// Changes whenever a process commits to the repository.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t time = 0;  // modification, in nanoseconds since 1970
  std::int64_t size = 0;
  std::int64_t log_time = 0;  // of the write-ahead log; 0 if it is empty
  std::int64_t log_size = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};
/// Returns nullopt if the file cannot be found.
std::optional<FileState> file_state(const std::filesystem::path& path);

/// The beginnings of two digests (see sync::Replication::Contents). Empty if they are not known.
struct Digests {
  std::string names;
  std::string rows;
  friend bool operator==(const Digests&, const Digests&) = default;
};

/// What the threads know about a repository.
struct Facts {
  std::string project;                // empty until the repository was opened for the first time
  sync::ReplicaPosition position;     // valid if was_opened
  std::optional<FileState> examined;  // at the start of the last successful examination
  bool was_opened = false;            // by this process
  bool is_first = false;              // found by the first start, which opens files in any order
  bool is_new = false;                // the file appeared, or was replaced, since the last start
  bool needs_sync = false;
  std::uint64_t published = 0;  // sequence of the last message that this process has published
  std::optional<base::UnixMillis> unpublished_since;
  std::string publish_error;
  std::string apply_error;
  std::uint64_t waiting = 0;  // entries that were read and cannot be applied
  base::UnixMillis oldest_waiting;
  Digests digests;
  std::optional<FileState> digested;  // the state that has these digests
  bool is_announced = false;          // whether other hosts were sent these digests
  std::chrono::steady_clock::time_point next_digest;

  void need_sync() {
    needs_sync = true;
    is_announced = false;
  }
  /// Returns whether `digests` belong to the present state, and nothing waits.
  bool has_digests() const {
    return digested && digested == examined && !unpublished_since && waiting == 0;
  }
};

/// Where a repository is.
struct Place {
  std::string pool;
  std::string name;              // empty for a pool with a single repository
  std::filesystem::path folder;  // empty for a pool with a single repository
  std::filesystem::path path;
};

class Replicated : public Place {
 public:
  explicit Replicated(Place place) : Place(std::move(place)) {}

 private:
  friend class Repositories;
  std::mutex open_mutex_;  // guards the next two fields. Lock it before Repositories::mutex_
  std::unique_ptr<repository::Repository> repository_;  // null if not open
  std::optional<sync::Replication> replication_;
  Facts facts_;  // guarded by Repositories::mutex_
};
using ReplicatedPtr = std::shared_ptr<Replicated>;

/// The position of the process in the stream. The functions are called by several threads.
class ReadPosition {
 public:
  virtual ~ReadPosition() = default;
  /// Returns the position at which a new repository of PROJECT starts.
  virtual sync::ReplicaPosition start_of(const std::string& project) = 0;
  /// PROJECT's repository was opened and has POSITION. Makes the process read again from there if
  /// the project's messages were skipped. That is likely if the file IS_NEW.
  virtual void opened(const std::string& project, const sync::ReplicaPosition& position,
                      bool is_new) = 0;
  /// PROJECT's repository has stored its position.
  virtual void recorded(const std::string& project) = 0;
};

/// All functions can be called by several threads.
class Repositories {
 public:
  /// POSITION is not owned. MAX_ENTRY: see sync::Replication.
  Repositories(const ReplicaOptions& options, std::size_t max_entry, ReadPosition& position);

  /// Finds the files of all pools, and forgets those that were removed. STATE_FILE is the file
  /// `repositories`, which the first call reads.
  void list(const std::filesystem::path& state_file);
  /// Errors: kIo.
  Result<void> save(const std::filesystem::path& state_file);
  /// Returns where the repository NAME of POOL is, or would be. Errors: kNotFound (no such pool),
  /// kInvalid (NAME).
  Result<Place> place(std::string_view pool, std::string_view name) const;
  /// Errors: those of place(), kNotFound, kDenied.
  Result<ReplicatedPtr> find(std::string_view pool, std::string_view name);
  /// Returns null if no repository of the project is known.
  ReplicatedPtr of_project(const std::string& project) const;
  std::vector<ReplicatedPtr> all() const;
  /// Returns the repositories whose files have changed since they were examined.
  std::vector<ReplicatedPtr> changed() const;

  Facts facts(const Replicated& one) const;
  void change(Replicated& one, const std::function<void(Facts&)>& change);
  /// Sets Facts::needs_sync of all repositories.
  void need_sync();

  using Action = std::function<Result<void>(sync::Replication&)>;
  /// Opens the repository if necessary, and runs ACTION. Waits while another thread uses the same
  /// repository. Errors: those of ACTION and of opening, and kConflict (another file has the same
  /// project).
  Result<void> use(const ReplicatedPtr& one, const Action& action);
  /// Runs a checkpoint if ONE is open and its write-ahead log is long. Waits for the disk.
  void keep_log_short(const ReplicatedPtr& one);
  /// Calls sync::Replication::record_progress() for the open repositories that no thread uses.
  void record_progress();
  /// Makes the running actions fail.
  void stop() { is_stopping_ = true; }
  bool is_stopping() const { return is_stopping_; }

 private:
  struct Saved {
    FileState state;
    std::string project;
    bool needs_sync = false;
    Digests digests;
  };
  ReplicatedPtr add(const Place& place);
  void load(const std::filesystem::path& state_file);
  void forget_removed(const std::vector<std::filesystem::path>& found);
  Result<void> use_locked(const ReplicatedPtr& one, const Action& action);
  Result<void> open(const ReplicatedPtr& one);
  static void close(Replicated& one);
  Result<void> introduce(const ReplicatedPtr& one);
  bool owns_project(const ReplicatedPtr& one) const;
  Result<void> claim(const ReplicatedPtr& one, const std::string& project);
  void close_one_too_many();
  bool record_progress(Replicated& one);

  const std::vector<ReplicatedPool> pools_;
  const std::string host_;
  const base::UnixMillis since_;
  const std::size_t max_entry_;
  repository::OpenOptions open_;
  ReadPosition& position_;
  std::atomic<bool> is_stopping_ = false;
  mutable std::mutex mutex_;  // guards the fields below, and Replicated::facts_
  std::map<std::filesystem::path, ReplicatedPtr> by_path_;
  std::map<std::string, ReplicatedPtr> by_project_;
  std::list<ReplicatedPtr> open_ones_;  // most recently used first
  std::map<std::filesystem::path, Saved> saved_;
  bool was_listed_ = false;
  bool had_state_file_ = false;
  std::string last_saved_;
};

/// Replaces the contents of PATH atomically. Does not flush them to disk. Errors: kIo.
Result<void> replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace quarry::replica
