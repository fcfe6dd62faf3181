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
#include "quarry/repository/configuration.h"
#include "quarry/repository/log_gate.h"

namespace quarry::repository {

using Rid = std::int64_t;

/// The bytes of the largest artifact that a repository can hold: fossil counts them in an int.
inline constexpr std::size_t kLargestArtifact = (std::size_t{1} << 31) - 1;

/// What looking at every artifact of a file takes: rebuild(), verify(), Receipt::complete(). Bytes.
struct WalkBounds {
  /// Contents that wait for what else is made from them: beyond it they are made again.
  std::size_t contents = std::size_t{64} << 20;
  /// Texts of structural artifacts in memory: beyond it they go to a temporary file.
  std::size_t texts = std::size_t{48} << 20;
  /// Lists of the files of check-ins: beyond it they are made again.
  std::size_t lists = std::size_t{160} << 20;
  /// Threads beside the calling one. Nothing: a few, where there are processors for them.
  std::optional<unsigned> helpers = {};
};

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
  LogGate* log_gate = nullptr;
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

/// A row of the user table, as far as a login needs it.
struct User {
  std::int64_t uid = 0;
  std::string login;
  std::string secret;        // user.pw: normally SHA1 of PROJECT-CODE/LOGIN/PASSWORD, 40 hex digits
  std::string capabilities;  // letters, not expanded
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

/// How an artifact arrives.
struct Arrival {
  artifact::HashName name;
  std::string_view payload;  // content, or a delta when delta_source is set
  std::optional<artifact::HashName> delta_source;
  /// The payload is in blob format (a cfile card) rather than plain (a file card).
  bool is_compressed = false;
  /// For cfile cards: the declared uncompressed size of the whole artifact. Checked when set.
  std::optional<std::uint64_t> declared_size;
  bool is_private = false;
};

/// A file that lives beside the history: only its newest content is kept.
struct UnversionedFile {
  std::string name;
  std::int64_t mtime = 0;           // seconds since 1970, as whoever changed it had them
  std::optional<std::string> hash;  // nothing: it was deleted
  std::int64_t size = 0;            // bytes, uncompressed
};

/// How an unversioned file, or what is told of it, arrives.
struct UnversionedArrival {
  std::string_view name;
  std::int64_t mtime = 0;
  std::string_view hash;                    // "-": it was deleted
  std::optional<std::string_view> content;  // nothing: left out
};

/// Who said that a commit on a check-in is about to be made.
struct CheckInLock {
  std::string login;       // empty: somebody without one
  std::int64_t since = 0;  // seconds since 1970
};

/// Another repository of the project.
struct SyncLink {
  std::string url;
  std::string about;       // JSON
  std::int64_t mtime = 0;  // seconds since 1970
};

class Database;
class Receipt;

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

  // --- settings and people ---------------------------------------------------------------------

  /// Cached until the file changes.
  const std::string& project_code();
  const std::string& server_code();
  /// A row of `config`, or nothing.
  std::optional<std::string> setting(std::string_view name);
  std::int64_t setting_int(std::string_view name, std::int64_t otherwise);
  /// Fossil's reading of on/off, yes/no, true/false, 1/0; OTHERWISE for anything else.
  bool setting_bool(std::string_view name, bool otherwise);
  /// Whether the setting `hash-policy` keeps artifacts called NAME out.
  bool shuns_hash_of(const artifact::HashName& name);
  std::optional<User> find_user(std::string_view login);

  /// Calls VISIT for each row of AREAS that has a time of change, in the form of a `config` card.
  void visit_configuration(ConfigAreas areas, const ConfigVisitor& visit);

  /// Other repositories of the project that were heard of within a month; OWN_URL is this one's.
  std::vector<SyncLink> sync_links(std::string_view own_url);

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
  /// Names of all artifacts but phantoms, shunned and private ones (legacy clone), in rid order.
  base::Result<void> visit_names(const std::function<void(const artifact::HashName&)>& visit);
  /// Names of the clusters, but for those that visit_names() leaves out and the unclustered ones.
  std::vector<artifact::HashName> clusters();
  /// Names of the private artifacts that have content, for a client that may have them.
  std::vector<artifact::HashName> private_names();

  /// Names of the artifacts that were made here and not sent anywhere yet, private ones left out:
  /// what a push begins with.
  std::vector<artifact::HashName> unsent();

  // Inside a Receipt the functions below first bring the derived tables up to date, since what
  // came may refer to artifacts that are not there.

  /// Names of every unclustered artifact that is no phantom, not private, not shunned. Cached until
  /// the file changes; the reference holds until the next call on this object.
  const std::vector<artifact::HashName>& unclustered();
  /// The same for who has few names to compare with them: nullptr where more than LIMIT would have
  /// to be read first.
  const std::vector<artifact::HashName>* unclustered_within(std::size_t limit);
  /// At most LIMIT names of phantoms, never shunned ones; private ones only when INCLUDE_PRIVATE.
  std::vector<artifact::HashName> phantoms(std::size_t limit, bool include_private);

  // --- unversioned files -----------------------------------------------------------------------

  /// All of them, deleted ones included, in the order in which they came to be.
  std::vector<UnversionedFile> unversioned();
  std::optional<UnversionedFile> find_unversioned(std::string_view name);
  /// SHA1 over `NAME YYYY-MM-DD HH:MM:SS HASH\n` of those that are not deleted, in name order.
  /// Cached until the file changes; the reference holds until the next call on this object.
  const std::string& unversioned_hash();
  /// Errors: kNotFound (no such file, deleted, or its content was never here), kCorrupt, kLimit.
  base::Result<std::string> unversioned_content(std::string_view name);

  /// Begins a write transaction and waits for its lock up to WAIT (nothing: the busy_timeout).
  /// No Snapshot may be alive. Errors: kBusy, kIo.
  base::Result<Receipt> receive(std::optional<std::chrono::milliseconds> wait = std::nullopt);

  /// This module's own view of an open file, and for this module alone.
  struct State;
  State& internals() { return *state_; }

 private:
  friend class Receipt;
  bool has_any_shunned();
  explicit Repository(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Who sent what a Receipt stores; becomes one row of `rcvfrom`, and only if something is stored.
struct Sender {
  std::int64_t uid = 0;
  std::optional<std::string> login_nonce;
  std::string address;
};

/// Who waits for Receipt::complete(). Either may be empty.
struct CompletionWatch {
  std::function<void(std::size_t done, std::size_t total)> progress;  // of artifacts
  std::function<bool()> is_interrupted;
};

/// One write transaction. Destroyed without commit(), it leaves no trace. After an error from any
/// function the only thing left to do is to destroy it.
class Receipt {
 public:
  Receipt(Receipt&&) noexcept;
  ~Receipt();

  /// Call before anything is stored.
  void set_sender(Sender sender);

  /// Stores an artifact that came: verifies its hash (kInvalid when wrong), keeps deltas whose
  /// source has not come, fills phantoms, resolves deltas that waited for this one. An artifact
  /// that is there already, or is shunned, is left alone (returns false).
  base::Result<bool> store(const Arrival& arrival);

  // A clone has everything looked at once, at its end, where the order in which it comes costs
  // nothing: only for a repository that init_for_clone() made, and that nobody else sees.

  /// Puts ARRIVAL in as it came, its content unseen. What is there already, or is shunned, is left
  /// alone (returns false). Errors: kLimit, kInvalid (sizes that cannot be).
  base::Result<bool> keep(const Arrival& arrival);
  /// Looks at all that was kept: the errors of store() are those of the first that is wrong. Then
  /// computes the derived tables. Starts threads. Ends with kIo once WATCH says so.
  base::Result<void> complete(const CompletionWatch& watch = {});
  /// Makes NAME known as an artifact that exists elsewhere, if it is not known yet.
  base::Result<void> add_phantom(const artifact::HashName& name, bool is_private);
  /// NAME, private here, becomes public (or the other way round, for phantoms only).
  base::Result<void> set_private(const artifact::HashName& name, bool is_private);
  /// Sets or (nothing) removes a row of `config`.
  base::Result<void> set_config(std::string_view name, std::optional<std::string_view> value);

  /// Puts RECORD into its table where there is none of its key, or one with an earlier mtime.
  /// Nothing is checked but that a setting may travel. Returns whether anything changed.
  base::Result<bool> merge_config(const ConfigRecord& record);

  /// CLIENT is about to commit on CHECK_IN. Returns who else said so before, and still holds it.
  base::Result<std::optional<CheckInLock>> lock_check_in(const artifact::HashName& check_in,
                                                         const std::optional<std::string>& login,
                                                         std::string_view client);
  /// CLIENT is about to commit on nothing any more.
  base::Result<void> unlock_check_ins(std::string_view client);

  /// Stores what came where it is newer than what is there: the later mtime wins, of two equal ones
  /// the greater hash (a deletion has the least). Returns whether anything changed. What has its
  /// content left out changes nothing but the mtime of that very content. Errors: kInvalid (the
  /// content is not what its hash says), kLimit.
  base::Result<bool> store_unversioned(const UnversionedArrival& arrival);
  /// NAMES are sent: they are unsent no longer.
  base::Result<void> forget_unsent(const std::vector<artifact::HashName>& names);
  /// Gives the user LOGIN another password; the project code must be known. Error: kNotFound.
  base::Result<void> set_password(std::string_view login, std::string_view password);

  /// From here on it is certain that check-ins go on from TIP: that TIP is the tip of BRANCH now, in
  /// this write transaction. The tip is the newest open leaf of the branch by the time that is shown,
  /// as fossil has it: where the branch has forked, the later leaf of the two. What is private does
  /// not count. Call before anything is stored. Errors: kConflict (the tip is another one, or the
  /// branch is closed), kNotFound (there is no such branch).
  base::Result<void> require_tip(std::string_view branch, const artifact::HashName& tip);

  /// Makes clusters where 100 or more unclustered artifacts call for them. Returns how many.
  base::Result<int> make_clusters();

  /// Computes the derived tables for what was stored and makes it durable (synchronous=FULL).
  base::Result<void> commit();

  /// How many artifacts were stored so far (deltas still waiting for their source included).
  std::size_t stored_count() const;

 private:
  friend class Repository;
  struct State;
  explicit Receipt(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quarry::repository
