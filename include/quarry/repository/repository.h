// An open repository file. Repository has the functions that read from the file; Receipt has the
// functions that write.
//
// A Repository belongs to one thread of one process. It keeps its SQLite connection and prepared
// statements until it is destroyed. Workers keep several repositories open between requests.
//
// Reads that need the same state of the file have to use the same Snapshot or Receipt. The file is
// in WAL mode: a Snapshot never waits for a writer. A Receipt holds the write lock until it ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/checkpoint_barrier.h"
#include "quarry/repository/name_lists.h"
#include "quarry/repository/receipt.h"
#include "quarry/repository/rid.h"
#include "quarry/repository/settings.h"
#include "quarry/repository/unversioned.h"
#include "quarry/repository/walk_bounds.h"

namespace quarry::repository {

/// Size of the largest artifact that a repository can hold, in bytes. Fossil stores sizes as `int`.
inline constexpr std::size_t kLargestArtifact = (std::size_t{1} << 31) - 1;

struct OpenOptions {
  /// Time for which a writer waits for another writer before it fails with kBusy.
  std::chrono::milliseconds busy_timeout{10000};
  /// Size of the largest artifact that is accepted or expanded, uncompressed, in bytes.
  std::size_t max_artifact_size = std::size_t{512} << 20;
  /// Size of the cache of expanded artifacts, which is kept between requests, in bytes.
  std::size_t content_cache_size = std::size_t{4} << 20;
  /// Size of the write-ahead log above which keep_log_short() runs a checkpoint, in bytes.
  std::size_t log_size = std::size_t{4} << 20;
  /// Shared by all processes that use the file. Not owned; null if only this process uses the file.
  CheckpointBarrier* checkpoint_barrier = nullptr;
  /// The source of the current time. Not owned; must outlive the repository.
  const base::Clock* clock = &base::system_clock();
  /// Called repeatedly with the statement's SQL while a statement takes longer than some
  /// milliseconds. Optional. Must not use the repository.
  std::function<void(std::string_view sql)> on_long_statement = {};
  /// Whether the file is still being created, under a temporary name. Writes are not synced to disk
  /// before make_durable(). If the machine crashes earlier, the file is lost.
  bool is_unfinished = false;
  /// Whether the caller only reads. open() then keeps the journal mode of the file, and does not
  /// warn if the file cannot be written.
  bool is_read_only = false;
  WalkBounds walk = {};
};

struct ArtifactInfo {
  Rid rid = 0;
  std::int64_t size = -1;  // uncompressed bytes; -1 for a phantom
  bool is_phantom() const { return size < 0; }
};

class StoredPayload;

/// An artifact as it is stored, for copying to a client without expanding it. Valid only during the
/// call of the visitor.
struct StoredArtifact {
  Rid rid;
  artifact::HashName name;
  std::int64_t size;                               // bytes of the whole artifact, uncompressed
  std::optional<artifact::HashName> delta_source;  // the content is a delta on this artifact
  std::int64_t stored_size;                        // bytes of `content` in the file
  StoredPayload* payload;                          // source of append_to()

  /// Appends the stored bytes (blob format of artifact/blob.h) to OUT.
  Result<void> append_to(std::string& out) const;
};

class Database;
struct RepositoryState;

/// A read transaction. All reads during its lifetime return the same state of the file.
class Snapshot {
 public:
  Snapshot(Snapshot&&) noexcept;
  ~Snapshot();

 private:
  friend class Repository;
  explicit Snapshot(Database* database) : database_(database) {}
  Database* database_;
};

/// This class is large because all its functions share one connection, its prepared statements and
/// the content cache. The functions for settings, names and unversioned files, and the functions
/// that write, are in separate classes: see settings(), names(), unversioned() and receive().
class Repository {
 public:
  /// Opens the existing repository PATH. Errors: kNotFound, kInvalid (not a repository, or an
  /// unsupported schema), kBusy, kIo.
  static Result<std::unique_ptr<Repository>> open(const std::filesystem::path& path,
                                                  const OpenOptions& options = {});
  ~Repository();
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;

  /// Fails with kInvalid if a later version of Fossil has upgraded the file to an unknown schema.
  /// Do not call any other function in that case. Use inside a Snapshot or a Receipt.
  Result<void> check_schema();

  const std::filesystem::path& path() const;
  const OpenOptions& options() const;
  /// Returns whether path() now refers to a different file than the open one. Uses only stat(2),
  /// because opening and closing the file releases SQLite's locks.
  bool was_replaced() const;
  /// Returns whether this process can now write a file that it could not write when it opened the
  /// repository. SQLite detects this only if the repository is opened again.
  bool became_writable() const;
  /// Call this function if was_replaced() returns true. Removes the -wal and -shm files if they
  /// still belong to the replaced file, because SQLite would use them with the new file.
  void remove_leftovers();

  /// Runs a checkpoint if the write-ahead log is longer than OpenOptions::log_size. The checkpoint
  /// waits for the disk and sometimes briefly for readers. Therefore, call this function after
  /// commits when no client is waiting for this process.
  void keep_log_short();
  /// Returns whether this object has committed any changes since the last complete checkpoint().
  bool wants_checkpoint() const;
  /// Copies the write-ahead log into the file and truncates it, unless the log is in use. While the
  /// log is empty, the file can safely be replaced by another file. The function waits for the
  /// disk, so call it when the process is idle.
  void checkpoint();

  /// After IS_OVER has returned true, all reads and writes are interrupted. IS_OVER is called about
  /// once per millisecond of work. Interrupted functions return kIo, or throw if they do not return
  /// a Result. A commit that has begun is not interrupted. An empty IS_OVER removes the limit.
  void bound_by(std::function<bool()> is_over);

  /// Completes a file that was opened with OpenOptions::is_unfinished: syncs all commits to disk,
  /// and switches the file to WAL mode. Errors: kNoSpace, kIo.
  Result<void> make_durable();

  /// Begins a read transaction. Does not wait for a lock.
  Result<Snapshot> snapshot();
  /// Returns a number that changes whenever this or another process might have changed the file.
  /// Use inside a Snapshot or a Receipt.
  std::uint64_t state();

  // --- artifacts -------------------------------------------------------------------------------

  /// Finds the artifact NAME. Returns nullopt if NAME is not stored, not even as a phantom.
  std::optional<ArtifactInfo> find(const artifact::HashName& name);
  bool is_private(Rid rid);
  bool is_shunned(const artifact::HashName& name);
  /// Returns the full content of RID. Errors: kNotFound (a phantom, or no such row), kCorrupt,
  /// kLimit.
  Result<std::string> content(Rid rid);
  /// Returns the delta source of RID and the uncompressed delta. Returns nullopt if RID is stored
  /// whole.
  Result<std::optional<std::pair<artifact::HashName, std::string>>> stored_delta(Rid rid);
  /// Returns the delta source of RID without reading the delta. Returns nullopt if RID is stored
  /// whole.
  std::optional<artifact::HashName> delta_source(Rid rid);

  /// Calls VISIT for each artifact with rid >= FIRST in rid order, except phantoms, shunned and
  /// private artifacts, until VISIT returns false. Returns the rid of the next artifact to visit,
  /// or 0 if all were visited.
  Result<Rid> visit_stored(Rid first, const std::function<bool(const StoredArtifact&)>& visit);
  /// Returns whether RID is a delta whose source has not arrived yet, or an artifact that awaits a
  /// moderator's approval. Such an artifact is neither announced nor sent to clients.
  bool is_waiting(Rid rid);
  /// Returns whether is_waiting() is true for any artifact.
  bool has_waiting();

  // --- other subjects --------------------------------------------------------------------------
  // The returned objects refer to this repository, which must outlive them. They are cheap to copy.

  Settings settings() { return Settings(*state_); }
  NameLists names() { return NameLists(*state_); }
  UnversionedFiles unversioned() { return UnversionedFiles(*state_); }

  // --- writing ---------------------------------------------------------------------------------

  /// Begins a write transaction. Waits for the write lock for at most WAIT (default: busy_timeout).
  /// Must not be called while a Snapshot exists. Errors: kBusy, kIo.
  Result<Receipt> receive(std::optional<std::chrono::milliseconds> wait = std::nullopt);
  /// Like receive(), but the commit is not synced to the disk. Other processes therefore wait only
  /// briefly for the write lock, and a power failure can undo the commit. Use it for rows that only
  /// coordinate processes, and for positions that may go back. A later commit of a receive() also
  /// syncs this commit.
  Result<Receipt> receive_unsynced();

  /// For this module only.
  using State = RepositoryState;
  State& internals() { return *state_; }

 private:
  friend class Receipt;
  bool has_any_shunned();
  explicit Repository(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::repository
