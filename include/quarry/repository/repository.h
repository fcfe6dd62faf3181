// One open repository file: what a sync session asks of it and, in a Receipt, tells it.
//
// A Repository belongs to one thread of one process. It keeps its SQLite connection and prepared
// statements for as long as it lives; workers keep several of them open between requests.
//
// Every read that must see one state of the file happens inside a Snapshot or a Receipt. WAL mode:
// snapshots never wait for a writer, a Receipt holds the write lock from begin to commit.
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

/// The bytes of the largest artifact that a repository can hold: fossil counts them in an int.
inline constexpr std::size_t kLargestArtifact = (std::size_t{1} << 31) - 1;

struct OpenOptions {
  /// How long a writer waits for another writer before it gives up with kBusy.
  std::chrono::milliseconds busy_timeout{10000};
  /// The largest artifact, uncompressed, that is accepted or expanded.
  std::size_t max_artifact_size = std::size_t{512} << 20;
  /// How many bytes of recently expanded artifacts are kept between requests.
  std::size_t content_cache_size = std::size_t{4} << 20;
  /// How long the write-ahead log gets before keep_log_short() copies it into the file, in bytes.
  std::size_t log_size = std::size_t{4} << 20;
  /// That of the processes that use the file together. Not owned; null: there are none.
  CheckpointBarrier* checkpoint_barrier = nullptr;
  /// Where "now" comes from. Not owned; must outlive the repository.
  const base::Clock* clock = &base::system_clock();
  /// Is told now and then which statement is running, while one runs for more than some
  /// milliseconds. May be empty. Must not use the repository.
  std::function<void(std::string_view sql)> on_long_statement = {};
  /// The file is being made, under a name that nobody knows: nothing is synced before
  /// make_durable(), and if the machine stops until then the file is worth nothing.
  bool is_unfinished = false;
  WalkBounds walk = {};
};

/// What is known of an artifact without reading its content.
struct ArtifactInfo {
  Rid rid = 0;
  std::int64_t size = -1;  // uncompressed bytes; -1: a phantom
  bool is_phantom() const { return size < 0; }
};

class StoredPayload;

/// An artifact as it is stored: for copying to a client without expanding it. Valid during the call
/// of the visitor that it is handed to.
struct StoredArtifact {
  Rid rid;
  artifact::HashName name;
  std::int64_t size;                               // of the whole artifact, uncompressed
  std::optional<artifact::HashName> delta_source;  // content is a delta on this
  std::int64_t stored_size;                        // bytes of `content` in the file
  StoredPayload* payload;                          // where append_to() reads from

  /// Appends the stored bytes (blob format of artifact/blob.h) to OUT.
  base::Result<void> append_to(std::string& out) const;
};

class Database;
struct RepositoryState;

/// A consistent view for reading: everything read while it lives shows the same state of the file.
class Snapshot {
 public:
  Snapshot(Snapshot&&) noexcept;
  ~Snapshot();

 private:
  friend class Repository;
  explicit Snapshot(Database* database) : database_(database) {}
  Database* database_;
};

/// Has more functions than a class of ours should: each is one question of a sync session, and all
/// of them share one connection, its prepared statements and the cache of contents. What has rules
/// of its own is an object behind settings(), names(), unversioned() and Receipt.
class Repository {
 public:
  /// Opens PATH, an existing repository. Errors: kNotFound, kInvalid (no repository, or of a schema
  /// that is not understood), kBusy, kIo.
  static base::Result<std::unique_ptr<Repository>> open(const std::filesystem::path& path,
                                                        const OpenOptions& options = {});
  ~Repository();
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;

  /// Error: kInvalid where a later Fossil has brought the file to a schema that is not known here:
  /// then nothing else may be asked of it. Inside a Snapshot or a Receipt.
  base::Result<void> check_schema();

  const std::filesystem::path& path() const;
  const OpenOptions& options() const;
  /// Whether the file at path() is no longer the one that is open (stat only: opening and closing
  /// the file would drop SQLite's locks).
  bool was_replaced() const;
  /// After was_replaced(): removes what this file's write-ahead log has left beside the new one,
  /// which would be taken for the new one's. What others have put there since stays.
  void remove_leftovers();

  /// Copies the write-ahead log into the file where what was committed has made it too long. To be
  /// called after commits, when nobody waits for this process: it waits for the disk, and where
  /// those who read have kept the log growing, for them a moment.
  void keep_log_short();
  /// Whether something was committed through this object that no checkpoint() has moved since.
  bool wants_checkpoint() const;
  /// Moves everything from the write-ahead log into the file and empties the log, unless somebody
  /// is just using it: with an empty log beside it, a file may be replaced by another. For an idle
  /// moment, since it waits for the disk.
  void checkpoint();

  /// From now on, once IS_OVER says so, which is asked every millisecond or so of work, whatever
  /// reads or writes ends: a Result is kIo, other functions throw. A commit that has begun goes on.
  /// An empty function: nothing ends it.
  void bound_by(std::function<bool()> is_over);

  /// Ends `is_unfinished`: all that was committed is on the disk, and the file is in
  /// write-ahead-log mode like any other. Errors: kNoSpace, kIo.
  base::Result<void> make_durable();

  /// Begins a read transaction. Cheap: no lock is waited for.
  base::Result<Snapshot> snapshot();
  /// A number that differs whenever anything in the file may have changed since the last look, by
  /// this process or another. Only inside a Snapshot or Receipt.
  std::uint64_t state();

  // --- artifacts -------------------------------------------------------------------------------

  /// Nothing when not even a phantom of NAME is there.
  std::optional<ArtifactInfo> find(const artifact::HashName& name);
  bool is_private(Rid rid);
  bool is_shunned(const artifact::HashName& name);
  /// The whole content. Errors: kNotFound (phantom or no such row), kCorrupt, kLimit.
  base::Result<std::string> content(Rid rid);
  /// The name that RID's stored delta refers to, and the delta itself uncompressed; nothing if RID
  /// is stored whole.
  base::Result<std::optional<std::pair<artifact::HashName, std::string>>> stored_delta(Rid rid);
  /// That name alone: nothing of the delta is read.
  std::optional<artifact::HashName> delta_source(Rid rid);

  /// Calls VISIT for each artifact with rid >= FIRST in rid order, leaving out phantoms, shunned
  /// and private ones, until VISIT returns false. Returns the rid at which a later call goes on
  /// (that of the artifact that was refused, or of the next), 0 when none is left.
  base::Result<Rid> visit_stored(Rid first,
                                 const std::function<bool(const StoredArtifact&)>& visit);
  /// Whether RID waits for its content: it came as a delta, and what that is made from is not there
  /// yet; or for a moderator's consent. Such an artifact is neither announced nor sent.
  bool is_waiting(Rid rid);
  /// Whether any artifact does.
  bool has_waiting();

  // --- what else there is, by subject ----------------------------------------------------------
  // Views of this file, which must outlive them; as cheap as a pointer.

  /// What this repository says of itself and of its people.
  Settings settings() { return Settings(*state_); }
  /// Lists of artifacts' names.
  NameLists names() { return NameLists(*state_); }
  /// The files beside the history.
  UnversionedFiles unversioned() { return UnversionedFiles(*state_); }

  // --- writing ---------------------------------------------------------------------------------

  /// Begins a write transaction and waits for its lock up to WAIT (nothing: the busy_timeout).
  /// No Snapshot may be alive. Errors: kBusy, kIo.
  base::Result<Receipt> receive(std::optional<std::chrono::milliseconds> wait = std::nullopt);

  /// This module's own view of an open file, and for this module alone.
  using State = RepositoryState;
  State& internals() { return *state_; }

 private:
  friend class Receipt;
  bool has_any_shunned();
  explicit Repository(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::repository
