// SQLite behind RAII: a connection, its prepared statements and its transactions.
//
// SQL text is written as a string literal at the place of its use. Prepared statements are cached
// until the connection is closed. The key is the SQL text. SQLite's errors are thrown as
// SqliteError. The public functions of `repository` convert SqliteError into Error.
#pragma once

#include <sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::repository {

class SqliteError : public std::runtime_error {
 public:
  SqliteError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }
  bool is_busy() const { return (code_ & 0xFF) == SQLITE_BUSY || (code_ & 0xFF) == SQLITE_LOCKED; }
  bool is_interrupt() const { return (code_ & 0xFF) == SQLITE_INTERRUPT; }
  bool is_full() const { return (code_ & 0xFF) == SQLITE_FULL; }
  bool is_read_only() const { return (code_ & 0xFF) == SQLITE_READONLY; }
  Error to_error(const std::filesystem::path& path) const;

 private:
  int code_;
};

/// Returns the status of the regular file PATH. Errors: kNotFound, kInvalid (another kind of file),
/// kIo.
Result<struct stat> status_of_file(const std::filesystem::path& path);

class Database;

/// Bytes to bind as a blob.
struct Blob {
  std::string_view bytes;
};

/// One execution of a prepared statement. Binds parameters, steps through rows, and reads columns.
/// The destructor resets the statement. Bound texts and blobs must outlive the Query. Texts and
/// blobs that are read are valid until the next step.
class Query {
 public:
  Query(Query&& other) noexcept;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  Query& operator=(Query&&) = delete;
  ~Query();

  /// Binds VALUES to the parameters ?1, ?2, …. They can be numbers, texts and Blobs. nullptr and an
  /// empty std::optional are bound as NULL.
  template <typename... Values>
  Query& bind(const Values&... values) {
    int index = 0;
    (set(++index, values), ...);
    return *this;
  }
  /// Binds one parameter.
  void set(int index, std::int64_t value);
  void set(int index, double value);
  void set(int index, std::string_view text);
  void set(int index, Blob blob);
  void set(int index, std::nullptr_t);
  template <std::integral Value>
  void set(int index, Value value) {
    set(index, static_cast<std::int64_t>(value));
  }
  template <typename Value>
  void set(int index, const std::optional<Value>& value) {
    value ? set(index, *value) : set(index, nullptr);
  }

  /// Advances to the next row. Returns false if there are no more rows.
  bool step();
  /// Runs a statement that does not return rows, then resets it.
  void run();
  /// Resets the statement, so that it can be bound again.
  void rewind();

  std::int64_t integer(int column) const;
  double real(int column) const;
  bool is_null(int column) const;
  /// Returns whether COLUMN has the same value and type in this query as in OTHER.
  bool has_same(int column, const Query& other) const;
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  friend class Database;
  Query(Database* database, sqlite3_stmt* statement, bool* in_use);
  void check(int code) const;

  Database* database_;
  sqlite3_stmt* statement_;
  bool* in_use_;  // null if this query owns and finalizes the statement
};

class Database {
 public:
  enum class Mode { kReadWrite, kReadOnly, kCreate };
  /// Opens PATH. Throws SqliteError.
  Database(const std::filesystem::path& path, Mode mode, std::chrono::milliseconds busy_timeout);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Prepares SQL, a single statement, and binds VALUES (Query::bind()), which must outlive the
  /// Query. If a statement with the same text was already prepared and is not in use, it is reused.
  template <typename... Values>
  Query query(std::string_view sql, Values&&... values) {
    static_assert((!std::is_same_v<Values, std::string> && ...),
                  "a temporary does not outlive the call");
    Query query = prepared(sql);
    query.bind(values...);
    return query;
  }
  /// Like query(), but does not cache the statement. Use this function for SQL that is composed at
  /// run time.
  template <typename... Values>
  Query query_once(std::string_view sql, Values&&... values) {
    static_assert((!std::is_same_v<Values, std::string> && ...),
                  "a temporary does not outlive the call");
    Query query(this, prepare(sql, false), nullptr);
    query.bind(values...);
    return query;
  }
  template <typename... Values>
  bool has_row(std::string_view sql, const Values&... values) {
    return query(sql, values...).step();
  }
  /// Returns the first column of the first row that SQL returns, or 0 if there is no row.
  template <typename... Values>
  std::int64_t first_integer(std::string_view sql, const Values&... values) {
    Query row = query(sql, values...);
    return row.step() ? row.integer(0) : 0;
  }
  /// Returns the first column of the first row as text, or an empty string if there is no row.
  template <typename... Values>
  std::string first_text(std::string_view sql, const Values&... values) {
    Query row = query(sql, values...);
    return std::string(row.step() ? row.text(0) : std::string_view());
  }
  /// Returns the first column of all rows that SQL returns.
  template <typename... Values>
  std::vector<std::int64_t> integers(std::string_view sql, const Values&... values) {
    std::vector<std::int64_t> found;
    for (Query rows = query(sql, values...); rows.step();) found.push_back(rows.integer(0));
    return found;
  }
  /// Runs one statement that does not return rows.
  template <typename Value, typename... Values>
  void execute(std::string_view sql, const Value& value, const Values&... values) {
    query(sql, value, values...).run();
  }
  /// Runs any number of statements without parameters. They are not cached.
  void execute(const std::string& sql);
  /// Runs SQL from the file's schema, if it is not empty. Runs only the first statement, because a
  /// crafted file can contain others, such as an ATTACH of any path.
  void run_definition(const std::string& sql);
  std::int64_t last_insert_rowid() const { return sqlite3_last_insert_rowid(handle_); }
  std::int64_t changes() const { return sqlite3_changes64(handle_); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
  bool has_table(std::string_view name);
  /// Returns whether TABLE, which must exist, has the column NAME. Uses the schema that the last
  /// statement has read.
  bool has_column(const char* table, const char* name);
  /// Returns whether SQLite's plan for SQL, with this file's statistics, is a full table scan.
  bool would_scan(std::string_view sql);
  /// Sets how long to wait for locks of other connections. interrupt_when() can end the wait.
  void set_busy_timeout(std::chrono::milliseconds timeout);
  /// Calls WATCHER periodically with the text of the running statement.
  void watch_long_statements(std::function<void(std::string_view)> watcher);
  /// Makes statements fail with SQLITE_INTERRUPT after TIME. The time is checked every STEPS steps.
  /// If TIME is nullopt, removes the limit.
  void set_deadline(std::optional<std::chrono::steady_clock::time_point> time,
                    int steps = kStepsPerCheck);
  /// Makes statements fail with SQLITE_INTERRUPT after IS_INTERRUPTED has returned true.
  /// IS_INTERRUPTED is called periodically. Statements that end a transaction are not interrupted.
  void interrupt_when(std::function<bool()> is_interrupted);
  /// Counts BYTES of work between statements, so that IS_INTERRUPTED is called in time. If
  /// IS_INTERRUPTED returns true, throws SqliteError.
  void count_work(std::size_t bytes);
  /// Runs SQL, a statement that ends a transaction, without interruption.
  void end_transaction(std::string_view sql);
  sqlite3* handle() const { return handle_; }

  [[noreturn]] void raise(int code) const;

 private:
  friend class Query;
  struct Entry {
    std::string sql;
    sqlite3_stmt* statement;
    bool in_use;
  };
  Query prepared(std::string_view sql);
  sqlite3_stmt* prepare(std::string_view sql, bool persistent);

  // Number of steps of SQLite's virtual machine that take about a millisecond.
  static constexpr int kStepsPerCheck = 100000;

  void set_progress_handler();
  static int on_progress(void* self);
  static int on_busy(void* self, int times);

  sqlite3* handle_ = nullptr;
  sqlite3_stmt* running_ = nullptr;  // the statement of the last step, until it is finalized
  std::function<void(std::string_view)> watcher_;
  std::function<bool()> is_interrupted_;
  std::size_t work_ = 0;  // bytes of work that count_work() has counted since the last check
  bool is_ending_ = false;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  int steps_ = kStepsPerCheck;
  std::chrono::milliseconds busy_timeout_{};
  std::chrono::steady_clock::time_point busy_deadline_;
  std::unordered_map<std::string_view, std::unique_ptr<Entry>> statements_;
};

/// A write transaction. The constructor runs BEGIN IMMEDIATE. The destructor runs ROLLBACK unless
/// commit() was called.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

template <typename Value>
struct AsResult {
  using Type = Result<Value>;
};
template <typename Value>
struct AsResult<Result<Value>> {
  using Type = Result<Value>;
};

/// Calls FUNCTION and returns its result as a Result. If FUNCTION throws a SqliteError,
/// returns it as an error.
template <typename Function>
auto guarded(const std::filesystem::path& path, Function&& function) {
  using Returned = decltype(function());
  using Guarded = typename AsResult<Returned>::Type;
  try {
    if constexpr (!std::is_void_v<Returned>) return Guarded(function());
    if constexpr (std::is_void_v<Returned>) return function(), Guarded();
  } catch (const SqliteError& error) {
    return Guarded(std::unexpected(error.to_error(path)));
  }
}

}  // namespace quarry::repository
