#include "quarry/repository/repository.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "quarry/artifact/blob.h"
#include "quarry/base/log.h"
#include "repository_state.h"
#include "schema_version.h"
#include "store/log_files.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

// Checks that the file has the indexes that our statements name. Query plans must not depend on
// SQLite's statistics, because with outdated statistics SQLite might scan a large table. For
// example, a repository that was created by `fossil new` keeps the statistics of an empty file.
// Therefore, statements look up referenced rows of blob by id, in a separate subquery, and name the
// index to use with INDEXED BY. Every statement is checked in tests/plans.py. The indexes in the
// list are SQLite's own, so they cannot be created if they are missing.
void check_indexes(Database& database) {
  for (const char* index : {"sqlite_autoindex_tagxref_1", "sqlite_autoindex_plink_1"}) {
    if (database.has_row("SELECT 1 FROM sqlite_schema WHERE type='index' AND name=?1", index)) {
      continue;
    }
    throw SqliteError(SQLITE_NOTADB,
                      fmt::format("the index '{}' is missing (run `fossil rebuild`)", index));
  }
}

void check_tables(Database& database) {
  for (const char* table :
       {"blob", "delta", "rcvfrom", "config", "user", "private", "shun", "event", "mlink", "plink",
        "tag", "tagxref", "filename", "phantom", "unclustered"}) {
    if (!database.has_table(table)) {
      throw SqliteError(SQLITE_NOTADB,
                        fmt::format("not a Fossil repository: the table '{}' is missing (upgrade a "
                                    "very old repository with `fossil rebuild`)",
                                    table));
    }
  }
}

/// Switches to WAL mode, in which readers never wait for a writer, and to commits that survive a
/// power failure. If the mode cannot be changed because the file is in use, the old mode is used,
/// and connections wait more often. In this case, returns a warning. Otherwise, returns an empty
/// string.
std::string use_write_ahead_log(Repository::State& state) {
  Database& database = state.database;
  database.execute(
      fmt::format("PRAGMA synchronous=FULL; PRAGMA cache_size=-4096; PRAGMA journal_size_limit={}",
                  state.log.hard_limit()));
  const auto read_mode = [&] { return database.first_text("PRAGMA journal_mode=WAL"); };
  try {
    const std::string mode = read_mode();
    if (mode == "wal") return {};
    return fmt::format("journal mode is {}, not wal: readers and writers will wait for each other",
                       mode);
  } catch (const SqliteError& error) {
    if (error.is_busy()) return "cannot switch to WAL mode: in use by another program";
    if (error.is_read_only()) return "read-only: clients can clone and pull, but not push";
    throw;
  }
}

void warn(const std::filesystem::path& path, const std::string& what) {
  if (!what.empty()) base::log(base::LogLevel::kWarning, "{}: {}", path.string(), what);
}

}  // namespace

// --- Snapshot ---------------------------------------------------------------------------------

Snapshot::Snapshot(Snapshot&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Snapshot::~Snapshot() {
  if (database_ == nullptr || !database_->in_transaction()) return;
  try {
    database_->end_transaction("COMMIT");
  } catch (const SqliteError& error) {
    // It is enough to log the error: only reads are affected, and if the connection is broken, the
    // next BEGIN fails.
    base::log(base::LogLevel::kWarning, "cannot end a read transaction: {}", error.what());
  }
}

// --- State ------------------------------------------------------------------------------------

RepositoryState::RepositoryState(std::filesystem::path file, const OpenOptions& open_options)
    : path(std::move(file)),
      options(open_options),
      database(path, Database::Mode::kReadWrite, options.busy_timeout),
      log(database, options.log_size),
      contents(database, options.max_artifact_size, options.content_cache_size),
      privacy(database, contents),
      names(database),
      manifests(contents, options.walk),
      derivation({database, contents, names, manifests, privacy, *options.clock}) {
  if (options.on_long_statement) database.watch_long_statements(options.on_long_statement);
}

RepositoryState::~RepositoryState() {
  if (inode == 0 || !was_replaced()) return;
  // Keep the log when this connection is closed. SQLite would delete the log by its name, but the
  // file with this name now belongs to the new repository file.
  int yes = 1;
  sqlite3_file_control(database.handle(), "main", SQLITE_FCNTL_PERSIST_WAL, &yes);
}

bool RepositoryState::was_replaced() const {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return true;
  return status.st_dev != device || status.st_ino != inode;
}

std::uint64_t RepositoryState::number() const {
  return static_cast<std::uint64_t>(inode) ^ (static_cast<std::uint64_t>(device) << 40);
}

void RepositoryState::keep_log_short() {
  CheckpointBarrier& barrier =
      options.checkpoint_barrier != nullptr ? *options.checkpoint_barrier : single_process_barrier;
  const auto done = guarded(path, [&] { log.keep_short(barrier, number()); });
  database.set_busy_timeout(options.busy_timeout);
  if (!done) base::log(base::LogLevel::kWarning, "checkpoint failed: {}", done.error().message);
}

void RepositoryState::wait_for_checkpoint() {
  if (options.checkpoint_barrier != nullptr) options.checkpoint_barrier->wait(number());
}

void RepositoryState::forget() {
  ++epoch;
  contents.forget_all();
  names.forget_all();
  manifests.forget_all();
  settings.clear();
  users.clear();
  unclustered.reset();
  has_shunned.reset();
  waiting.reset();
  unversioned_hash.reset();
  project_code.clear();
  server_code.clear();
}

const std::unordered_set<Rid>& RepositoryState::waiting_ones() {
  if (waiting) return *waiting;
  waiting.emplace();
  Query query = database.query(
      "WITH RECURSIVE waiting(rid) AS ("
      " SELECT d.rid FROM phantom AS p CROSS JOIN delta AS d INDEXED BY delta_i1 ON d.srcid=p.rid"
      " UNION SELECT d.rid FROM waiting AS w CROSS JOIN delta AS d INDEXED BY delta_i1"
      "  ON d.srcid=w.rid) SELECT rid FROM waiting");
  while (query.step()) waiting->insert(query.integer(0));
  if (database.has_table("modreq")) {
    Query held = database.query("SELECT objid, coalesce(attachRid,0) FROM modreq");
    while (held.step()) {
      waiting->insert(held.integer(0));
      waiting->insert(held.integer(1));
    }
  }
  return *waiting;
}

void RepositoryState::refresh() {
  const std::int64_t version = database.first_integer("PRAGMA data_version");
  if (version == data_version) return;
  data_version = version;
  forget();
}

// --- opening ----------------------------------------------------------------------------------

Repository::Repository(std::unique_ptr<State> state) : state_(std::move(state)) {}
Repository::~Repository() = default;

Result<std::unique_ptr<Repository>> Repository::open(const std::filesystem::path& path,
                                                     const OpenOptions& options) {
  QUARRY_TRY_ASSIGN(const struct stat status, status_of_file(path));
  return guarded(path, [&] {
    mend_modes_of_log(path, status.st_mode);
    auto state = std::make_unique<State>(path, options);
    state->device = status.st_dev;
    state->inode = status.st_ino;
    check_tables(state->database);
    check_indexes(state->database);
    std::string limitation;
    if (options.is_unfinished) {
      state->database.execute(
          "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA cache_size=-32768");
    } else if (!options.is_read_only) {
      limitation = use_write_ahead_log(*state);
    }
    if (const std::string made = complete_schema(state->database); !made.empty()) {
      base::log(base::LogLevel::kWarning,
                "{}: created {}, which the old schema lacked (run `fossil rebuild` to fill it)",
                path.string(), made);
    }
    state->unwritable = unwritable_files(path);
    if (!state->unwritable.empty() && state->unwritable.front() != path) {
      limitation = fmt::format(
          "no permission to write {}: clients can clone and pull, but not push (change its mode)",
          state->unwritable.front().string());
    }
    // Warn only after complete_schema(), which fails if the file cannot be read at all.
    if (!options.is_read_only) warn(path, limitation);
    state->refresh();
    for (const char* suffix : kLogFiles) {
      const std::filesystem::path companion = with_suffix(path, suffix);
      struct stat found {};
      if (::stat(companion.c_str(), &found) == 0) {
        state->companions.push_back({companion, found.st_ino});
      }
    }
    return std::unique_ptr<Repository>(new Repository(std::move(state)));
  });
}

Result<void> Repository::make_durable() {
  return guarded(state_->path, [&] {
    state_->options.is_unfinished = false;
    // This makes all earlier writes durable, because changing the mode writes a page and syncs the
    // file.
    warn(state_->path, use_write_ahead_log(*state_));
  });
}

const std::filesystem::path& Repository::path() const {
  return state_->path;
}
const OpenOptions& Repository::options() const {
  return state_->options;
}

bool Repository::was_replaced() const {
  return state_->was_replaced();
}

bool Repository::became_writable() const {
  return std::ranges::any_of(state_->unwritable, may_write);
}

void Repository::remove_leftovers() {
  for (const auto& [path, inode] : state_->companions) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || status.st_ino != inode) continue;
    base::log(base::LogLevel::kNotice, "{}: removed, because it belongs to the replaced file",
              path.string());
    ::unlink(path.c_str());
  }
}

bool Repository::wants_checkpoint() const {
  return state_->wants_checkpoint;
}

void Repository::keep_log_short() {
  state_->keep_log_short();
}

void Repository::checkpoint() {
  state_->wants_checkpoint = false;
  const auto done =
      guarded(state_->path, [&] { state_->wants_checkpoint = !state_->log.truncate(); });
  state_->database.set_busy_timeout(state_->options.busy_timeout);
  if (!done) base::log(base::LogLevel::kWarning, "checkpoint failed: {}", done.error().message);
}

void Repository::bound_by(std::function<bool()> is_over) {
  state_->database.interrupt_when(std::move(is_over));
}

Result<Snapshot> Repository::snapshot() {
  state_->wait_for_checkpoint();
  return guarded(state_->path, [&] {
    state_->database.query("BEGIN").run();
    Snapshot snapshot(&state_->database);
    // Read now, because the snapshot begins with the first read and not with BEGIN.
    state_->refresh();
    return snapshot;
  });
}

std::uint64_t Repository::state() {
  return state_->epoch;
}

// --- artifacts --------------------------------------------------------------------------------

std::optional<ArtifactInfo> Repository::find(const HashName& name) {
  Query query = state_->database.query("SELECT rid, size FROM blob WHERE uuid=?1", name.str());
  if (!query.step()) return std::nullopt;
  return ArtifactInfo{query.integer(0), query.integer(1)};
}

bool Repository::is_private(Rid rid) {
  return state_->privacy.is_private(rid);
}

bool Repository::is_waiting(Rid rid) {
  return state_->waiting_ones().contains(rid);
}

bool Repository::has_waiting() {
  return !state_->waiting_ones().empty();
}

bool Repository::has_any_shunned() {
  if (!state_->has_shunned) {
    state_->has_shunned = state_->database.has_row("SELECT 1 FROM shun LIMIT 1");
  }
  return *state_->has_shunned;
}

bool Repository::is_shunned(const HashName& name) {
  if (!has_any_shunned()) return false;
  return state_->database.has_row("SELECT 1 FROM shun WHERE uuid=?1", name.str());
}

Result<std::string> Repository::content(Rid rid) {
  return guarded(state_->path, [&]() -> Result<std::string> {
    QUARRY_TRY_ASSIGN(const Content content, state_->contents.get(rid));
    return *content;
  });
}

std::optional<HashName> Repository::delta_source(Rid rid) {
  Query query = state_->database.query(
      "SELECT (SELECT uuid FROM blob WHERE rid=srcid) FROM delta WHERE rid=?1", rid);
  if (!query.step()) return std::nullopt;
  return HashName::parse(query.text(0));
}

Result<std::optional<std::pair<HashName, std::string>>> Repository::stored_delta(Rid rid) {
  using Delta = std::optional<std::pair<HashName, std::string>>;
  return guarded(state_->path, [&]() -> Result<Delta> {
    Query query = state_->database.query(
        "SELECT (SELECT uuid FROM blob WHERE rid=srcid),"
        " (SELECT content FROM blob WHERE rid=delta.rid) FROM delta WHERE rid=?1",
        rid);
    if (!query.step()) return Delta{};
    const auto source = HashName::parse(query.text(0));
    if (!source) return fail(ErrorCode::kCorrupt, "the name of a delta source is not a hash");
    QUARRY_TRY_ASSIGN(std::string delta,
                      artifact::blob_expand(query.blob(1), state_->options.max_artifact_size));
    state_->database.count_work(delta.size());
    return Delta(std::in_place, *source, std::move(delta));
  });
}

}  // namespace quarry::repository
