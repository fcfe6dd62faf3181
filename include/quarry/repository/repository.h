// One open repository file: the reads of a sync session and, in a Receipt, its writes.
//
// A Repository belongs to one thread of one process. It keeps its SQLite connection and prepared
// statements until it is destroyed. Workers keep several of them open between requests.
//
// All reads that must see the same state of the file happen inside one Snapshot or Receipt. The
// file is in WAL mode: snapshots never wait for a writer, and a Receipt holds the write lock until
// it ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Size of the largest artifact that a repository can hold, in bytes. Fossil stores sizes in an
/// int.
inline constexpr std::size_t kLargestArtifact = (std::size_t{1} << 31) - 1;

struct OpenOptions {
  /// How long a writer waits for another writer before it fails with kBusy.
  std::chrono::milliseconds busy_timeout{10000};
  /// Size of the largest artifact that is accepted or expanded, uncompressed, in bytes.
  std::size_t max_artifact_size = std::size_t{512} << 20;
  /// Size of the cache of expanded artifacts, which is kept between requests, in bytes.
  std::size_t content_cache_size = std::size_t{4} << 20;
  /// Size of the write-ahead log above which keep_log_short() runs a checkpoint, in bytes.
  std::size_t log_size = std::size_t{4} << 20;
  /// Shared by the processes that use the file. Not owned; null if only this process uses it.
  CheckpointBarrier* checkpoint_barrier = nullptr;
  /// The source of the current time. Not owned; must outlive the repository.
  const base::Clock* clock = &base::system_clock();
  /// Called repeatedly, with its SQL, while a statement takes longer than some milliseconds. May be
  /// empty. Must not use the repository.
  std::function<void(std::string_view sql)> on_long_statement = {};
  /// Whether the file is still being created, under a temporary name. No writes are synced to disk
  /// before make_durable(), so the file is lost if the machine crashes before that.
  bool is_unfinished = false;
  WalkBounds walk = {};
};

/// The metadata of an artifact, read without its content.
struct ArtifactInfo {
  Rid rid = 0;
  std::int64_t size = -1;  // uncompressed bytes; -1 for a phantom
  bool is_phantom() const { return size < 0; }
};

class StoredPayload;

/// An artifact as it is stored, to be copied to a client without expanding it. Valid only until the
/// visitor that receives it returns.
struct StoredArtifact {
  Rid rid;
  artifact::HashName name;
  std::int64_t size;                               // size of the whole artifact, uncompressed
  std::optional<artifact::HashName> delta_source;  // the content is a delta on this artifact
  std::int64_t stored_size;                        // number of bytes of `content` in the file
  StoredPayload* payload;                          // source of append_to()

  /// Appends the stored bytes (blob format of artifact/blob.h) to OUT.
  base::Result<void> append_to(std::string& out) const;
};

class Database;
struct RepositoryState;

/// A read transaction: all reads during its lifetime see the same state of the file.
class Snapshot {
 public:
  Snapshot(Snapshot&&) noexcept;
  ~Snapshot();

 private:
  friend class Repository;
  explicit Snapshot(Database* database) : database_(database) {}
  Database* database_;
};

/// This class is larger than most of ours because all its functions share one connection, its
/// prepared statements and the content cache. Subjects with their own rules are separate objects:
/// settings(), names(), unversioned() and Receipt.
class Repository {
 public:
  /// Opens the existing repository PATH. Errors: kNotFound, kInvalid (not a repository, or an
  /// unsupported schema), kBusy, kIo.
  static base::Result<std::unique_ptr<Repository>> open(const std::filesystem::path& path,
                                                        const OpenOptions& options = {});
  ~Repository();
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;

  /// Returns kInvalid if a later Fossil has upgraded the file to an unknown schema; then no other
  /// function may be called. Use inside a Snapshot or a Receipt.
  base::Result<void> check_schema();

  const std::filesystem::path& path() const;
  const OpenOptions& options() const;
  /// Whether path() now leads to another file than the open one. Uses only stat(2), because opening
  /// and closing the file would drop SQLite's locks.
  bool was_replaced() const;
  /// Call after was_replaced(): removes the old file's -wal and -shm, which SQLite would otherwise
  /// use with the new file. Keeps those of the new file.
  void remove_leftovers();

  /// Runs a checkpoint if commits have made the write-ahead log too long. Call it after commits,
  /// when no client is waiting for this process, because it waits for the disk and sometimes
  /// briefly for readers.
  void keep_log_short();
  /// Whether this object has committed any changes since the last complete checkpoint().
  bool wants_checkpoint() const;
  /// Copies the write-ahead log into the file and truncates it, unless the log is in use. While the
  /// log is empty, another file may safely replace this one. Call it when idle, because it waits
  /// for the disk.
  void checkpoint();

  /// Interrupts all later reads and writes once IS_OVER returns true; it is called about once per
  /// millisecond of work. Interrupted functions return kIo or, without a Result, throw. A commit
  /// that has begun is not interrupted. An empty function removes the limit.
  void bound_by(std::function<bool()> is_over);

  /// Ends the state `is_unfinished`: syncs all commits to disk, and switches the file to WAL mode.
  /// Errors: kNoSpace, kIo.
  base::Result<void> make_durable();

  /// Begins a read transaction. Does not wait for a lock.
  base::Result<Snapshot> snapshot();
  /// A number that changes whenever this or another process may have changed the file. Use inside a
  /// Snapshot or a Receipt.
  std::uint64_t state();

  // --- artifacts -------------------------------------------------------------------------------

  /// nullopt if the repository does not know NAME, not even as a phantom.
  std::optional<ArtifactInfo> find(const artifact::HashName& name);
  bool is_private(Rid rid);
  bool is_shunned(const artifact::HashName& name);
  /// The full content. Errors: kNotFound (a phantom, or no such row), kCorrupt, kLimit.
  base::Result<std::string> content(Rid rid);
  /// The delta source of RID and the uncompressed delta. nullopt if RID is stored whole.
  base::Result<std::optional<std::pair<artifact::HashName, std::string>>> stored_delta(Rid rid);
  /// The delta source alone, without reading the delta. nullopt if RID is stored whole.
  std::optional<artifact::HashName> delta_source(Rid rid);

  /// Calls VISIT for each artifact with rid >= FIRST in rid order, except phantoms, shunned and
  /// private ones, until VISIT returns false. Returns the rid to continue from, or 0 if all were
  /// visited.
  base::Result<Rid> visit_stored(Rid first,
                                 const std::function<bool(const StoredArtifact&)>& visit);
  /// Whether RID is a delta whose source has not arrived yet, or an artifact that awaits a
  /// moderator's approval. Such an artifact is neither announced nor sent.
  bool is_waiting(Rid rid);
  /// Whether is_waiting() is true for any artifact.
  bool has_waiting();

  // --- other subjects --------------------------------------------------------------------------
  // Views of this repository, which must outlive them. They are as cheap as a pointer.

  /// Settings and users.
  Settings settings() { return Settings(*state_); }
  /// Lists of artifact names.
  NameLists names() { return NameLists(*state_); }
  /// Unversioned files.
  UnversionedFiles unversioned() { return UnversionedFiles(*state_); }

  // --- writing ---------------------------------------------------------------------------------

  /// Begins a write transaction. Waits for the write lock for at most WAIT (default: busy_timeout).
  /// No Snapshot may exist. Errors: kBusy, kIo.
  base::Result<Receipt> receive(std::optional<std::chrono::milliseconds> wait = std::nullopt);

  /// For use inside this module only.
  using State = RepositoryState;
  State& internals() { return *state_; }

 private:
  friend class Receipt;
  bool has_any_shunned();
  explicit Repository(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::repository
