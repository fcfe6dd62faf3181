#include "database.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "wal_guard_vfs.h"

namespace quarry::repository {

namespace {

/// Returns SQLite's message. If a file cannot be opened, adds the system's message.
std::string message_of(sqlite3* handle, int code) {
  std::string message = sqlite3_errmsg(handle);
  const int system_code = sqlite3_system_errno(handle);
  if ((code & 0xFF) == SQLITE_CANTOPEN && system_code != 0) {
    message += fmt::format(" ({})", std::generic_category().message(system_code));
  }
  return message;
}

}  // namespace

Error SqliteError::to_error(const std::filesystem::path& path) const {
  const std::string message = fmt::format("{}: {}", path.string(), what());
  switch (code_ & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kBusy, message};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::kCorrupt, message};
    case SQLITE_READONLY:
      return {ErrorCode::kReadOnly,
              fmt::format("{}: no permission to write the file or its folder ({})", path.string(),
                          what())};
    case SQLITE_FULL:
      return {ErrorCode::kNoSpace, message};
    case SQLITE_TOOBIG:
      // This message is sent to clients, so it must not contain the file's path.
      return {ErrorCode::kLimit, what()};
    default:
      return {ErrorCode::kIo, message};
  }
}

Result<struct stat> status_of_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return fail(is_missing ? ErrorCode::kNotFound : ErrorCode::kIo,
                fail_errno(path.string()).error().message);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kInvalid, "{}: not a regular file", path.string());
  }
  return status;
}

Query::Query(Database* database, sqlite3_stmt* statement, bool* in_use)
    : database_(database), statement_(statement), in_use_(in_use) {
  if (in_use_ != nullptr) *in_use_ = true;
}

Query::Query(Query&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      in_use_(std::exchange(other.in_use_, nullptr)) {}

Query::~Query() {
  if (statement_ == nullptr) return;
  if (database_->running_ == statement_) database_->running_ = nullptr;
  if (in_use_ == nullptr) {
    sqlite3_finalize(statement_);
    return;
  }
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  *in_use_ = false;
}

void Query::check(int code) const {
  if (code != SQLITE_OK) database_->raise(code);
}

void Query::set(int index, std::int64_t value) {
  check(sqlite3_bind_int64(statement_, index, value));
}

void Query::set(int index, double value) {
  check(sqlite3_bind_double(statement_, index, value));
}

void Query::set(int index, std::string_view text) {
  // SQLite binds a null pointer as NULL, but an empty text must not be NULL.
  const char* bytes = text.data() == nullptr ? "" : text.data();
  check(sqlite3_bind_text64(statement_, index, bytes, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Query::set(int index, Blob blob) {
  const char* bytes = blob.bytes.data() == nullptr ? "" : blob.bytes.data();
  check(sqlite3_bind_blob64(statement_, index, bytes, blob.bytes.size(), SQLITE_STATIC));
}

void Query::set(int index, std::nullptr_t) {
  check(sqlite3_bind_null(statement_, index));
}

bool Query::step() {
  // A step of a small statement takes about as long as processing this number of bytes.
  constexpr std::size_t kWork = 4096;
  database_->count_work(kWork);
  database_->running_ = statement_;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  database_->raise(code);
}

void Query::run() {
  while (step()) {
  }
  rewind();
}

void Query::rewind() {
  check(sqlite3_reset(statement_));
}

std::int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
double Query::real(int column) const {
  return sqlite3_column_double(statement_, column);
}
bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

bool Query::has_same(int column, const Query& other) const {
  const int type = sqlite3_column_type(statement_, column);
  if (type != sqlite3_column_type(other.statement_, column)) return false;
  switch (type) {
    case SQLITE_NULL:
      return true;
    case SQLITE_INTEGER:
      return integer(column) == other.integer(column);
    case SQLITE_FLOAT:
      return real(column) == other.real(column);
    default:
      return blob(column) == other.blob(column);
  }
}

std::string_view Query::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Query::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Database::Database(const std::filesystem::path& path, Mode mode,
                   std::chrono::milliseconds busy_timeout) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (mode == Mode::kReadOnly) flags |= SQLITE_OPEN_READONLY;
  if (mode == Mode::kReadWrite) flags |= SQLITE_OPEN_READWRITE;
  if (mode == Mode::kCreate) flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, wal_guard_vfs());
  if (code != SQLITE_OK) {
    const std::string message =
        handle_ != nullptr ? message_of(handle_, code) : sqlite3_errstr(code);
    sqlite3_close(handle_);
    throw SqliteError(code, message);
  }
  // Checkpoints are not run inside a commit, because a client is waiting for the commit
  // (write_ahead_log.h).
  sqlite3_wal_autocheckpoint(handle_, 0);
  set_busy_timeout(busy_timeout);
}

Database::~Database() {
  for (auto& [sql, entry] : statements_) sqlite3_finalize(entry->statement);
  sqlite3_close(handle_);
}

void Database::raise(int code) const {
  throw SqliteError(code, message_of(handle_, code));
}

sqlite3_stmt* Database::prepare(std::string_view sql, bool persistent) {
  sqlite3_stmt* statement = nullptr;
  const unsigned flags = persistent ? SQLITE_PREPARE_PERSISTENT : 0;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), flags,
                                      &statement, nullptr);
  if (code != SQLITE_OK) raise(code);
  return statement;
}

Query Database::prepared(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    auto entry = std::make_unique<Entry>(Entry{std::string(sql), prepare(sql, true), false});
    const std::string_view key = entry->sql;
    found = statements_.emplace(key, std::move(entry)).first;
  }
  Entry& entry = *found->second;
  if (entry.in_use) return Query(this, prepare(sql, false), nullptr);
  return Query(this, entry.statement, &entry.in_use);
}

void Database::execute(const std::string& sql) {
  running_ = nullptr;
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(code);
}

void Database::run_definition(const std::string& sql) {
  if (!sql.empty()) query_once(sql).run();
}

bool Database::has_table(std::string_view name) {
  return has_row("SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?1", name);
}

bool Database::has_column(const char* table, const char* name) {
  const int code = sqlite3_table_column_metadata(handle_, "main", table, name, nullptr, nullptr,
                                                 nullptr, nullptr, nullptr);
  // SQLITE_ERROR stands for a missing column, which does not have a code of its own.
  if (code != SQLITE_OK && code != SQLITE_ERROR) raise(code);
  return code == SQLITE_OK;
}

bool Database::would_scan(std::string_view sql) {
  Query plan = query_once(fmt::format("EXPLAIN QUERY PLAN {}", sql));
  while (plan.step()) {
    if (plan.text(3).starts_with("SCAN")) return true;
  }
  return false;
}

void Database::set_busy_timeout(std::chrono::milliseconds timeout) {
  busy_timeout_ = timeout;
  sqlite3_busy_handler(handle_, timeout.count() > 0 ? on_busy : nullptr, this);
}

/// SQLite's busy handler. Waits for a lock. TIMES is the number of previous waits for this lock.
/// Returns 0 if the statement has to fail.
int Database::on_busy(void* self, int times) {
  // The same delays as SQLite's own handler.
  constexpr std::array<int, 12> kMillis = {1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100};
  auto& database = *static_cast<Database*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (times == 0) database.busy_deadline_ = now + database.busy_timeout_;
  if (now >= database.busy_deadline_) return 0;
  if (!database.is_ending_ && database.is_interrupted_ && database.is_interrupted_()) return 0;
  const auto wait = kMillis[std::min(static_cast<std::size_t>(times), kMillis.size() - 1)];
  std::this_thread::sleep_until(
      std::min(now + std::chrono::milliseconds(wait), database.busy_deadline_));
  return 1;
}

void Database::watch_long_statements(std::function<void(std::string_view)> watcher) {
  watcher_ = std::move(watcher);
  set_progress_handler();
}

void Database::set_deadline(std::optional<std::chrono::steady_clock::time_point> time, int steps) {
  deadline_ = time;
  steps_ = steps;
  set_progress_handler();
}

void Database::interrupt_when(std::function<bool()> is_interrupted) {
  is_interrupted_ = std::move(is_interrupted);
  set_progress_handler();
}

void Database::count_work(std::size_t bytes) {
  constexpr std::size_t kBytesPerCheck = std::size_t{1} << 20;
  if (!is_interrupted_ || is_ending_) return;
  work_ += bytes;
  if (work_ < kBytesPerCheck) return;
  work_ = 0;
  if (is_interrupted_()) throw SqliteError(SQLITE_INTERRUPT, "interrupted");
}

void Database::end_transaction(std::string_view sql) {
  struct Ending {
    bool& is_ending;
    ~Ending() { is_ending = false; }
  } ending{is_ending_};
  is_ending_ = true;
  query(sql).run();
}

void Database::set_progress_handler() {
  const bool has_reason = watcher_ || deadline_ || is_interrupted_;
  sqlite3_progress_handler(handle_, has_reason ? steps_ : 0, on_progress, this);
}

int Database::on_progress(void* self) {
  auto& database = *static_cast<Database*>(self);
  const char* sql = database.running_ != nullptr ? sqlite3_sql(database.running_) : nullptr;
  if (sql != nullptr && database.watcher_) database.watcher_(sql);
  if (database.is_ending_) return 0;
  database.work_ = 0;
  const bool is_late =
      database.deadline_ && std::chrono::steady_clock::now() >= *database.deadline_;
  const bool is_interrupted = database.is_interrupted_ && database.is_interrupted_();
  return is_late || is_interrupted ? 1 : 0;
}

Transaction::Transaction(Database& database) : database_(database) {
  database.query("BEGIN IMMEDIATE").run();
}

Transaction::~Transaction() {
  // After some errors, SQLite has already rolled back.
  if (!open_ || !database_.in_transaction()) return;
  try {
    database_.end_transaction("ROLLBACK");
  } catch (const SqliteError&) {
    // Ignore the error: if the connection is broken, the next BEGIN fails.
  }
}

void Transaction::commit() {
  database_.end_transaction("COMMIT");
  open_ = false;
}

}  // namespace quarry::repository
