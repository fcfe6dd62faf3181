// SQLite behind RAII: one connection, its prepared statements, its transactions.
//
// SQL text is written in full where it is used, as a string literal; the statement made from it is
// kept for the life of the connection, found again by the literal's text. What SQLite refuses is
// thrown as SqliteError; the public functions of this module turn that into a base::Error.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
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
  base::Error to_error(const std::filesystem::path& path) const;

 private:
  int code_;
};

class Database;

/// One run of a prepared statement: bind, step, read columns. Resets the statement when it goes.
/// Text and blobs that are bound must live until the Query goes; those read until the next step.
class Query {
 public:
  Query(Query&& other) noexcept;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  Query& operator=(Query&&) = delete;
  ~Query();

  Query& bind(int index, std::int64_t value);
  Query& bind(int index, int value) { return bind(index, std::int64_t{value}); }
  Query& bind(int index, double value);
  Query& bind(int index, std::string_view text);
  Query& bind(int index, const char* text) { return bind(index, std::string_view(text)); }
  Query& bind_blob(int index, std::string_view bytes);
  Query& bind_null(int index);
  /// NULL when there is no text.
  Query& bind_optional(int index, const std::optional<std::string>& text);

  /// Whether there is a (further) row.
  bool step();
  /// Runs a statement that gives no rows, and makes it ready to be bound and run again.
  void run();
  /// Makes the statement ready for other values.
  void rewind();

  std::int64_t integer(int column) const;
  double real(int column) const;
  bool is_null(int column) const;
  /// Whether COLUMN holds the very same value, its type included, as that of OTHER.
  bool has_same(int column, const Query& other) const;
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  friend class Database;
  Query(Database* database, sqlite3_stmt* statement, bool* in_use);
  void check(int code) const;

  Database* database_;
  sqlite3_stmt* statement_;
  bool* in_use_;  // null: the statement is this query's own and is finalized with it
};

class Database {
 public:
  enum class Mode { kReadWrite, kReadOnly, kCreate };
  /// Throws SqliteError.
  Database(const std::filesystem::path& path, Mode mode, std::chrono::milliseconds busy_timeout);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// SQL must be one statement. The same text gives the same prepared statement; while that is in
  /// use, a fresh one.
  Query query(std::string_view sql);
  /// The same for SQL that is put together at run time: the statement is not kept.
  Query query_once(std::string_view sql);
  /// Runs any number of statements without parameters.
  void execute(const std::string& sql);
  std::int64_t last_insert_rowid() const { return sqlite3_last_insert_rowid(handle_); }
  std::int64_t changes() const { return sqlite3_changes64(handle_); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
  bool has_table(std::string_view name);
  /// Of a table that is there, by the schema that the last statement read.
  bool has_column(const char* table, const char* name);
  /// Whether SQLite, with the statistics that it has of this file, would walk over a whole table
  /// for SQL.
  bool would_scan(std::string_view sql);
  /// How long a lock of others is waited for, unless what interrupts statements ends the wait.
  void set_busy_timeout(std::chrono::milliseconds timeout);
  /// Calls WATCHER with the text of the statement that is running, every so many of its steps.
  void watch_long_statements(std::function<void(std::string_view)> watcher);
  /// From TIME on, statements end with SQLITE_INTERRUPT; looked at every so many of their STEPS.
  /// Nothing: they take what they take.
  void set_deadline(std::optional<std::chrono::steady_clock::time_point> time,
                    int steps = kStepsBetweenLooks);
  /// Once IS_INTERRUPTED says so, which is asked now and then, statements end with
  /// SQLITE_INTERRUPT; but those that end a transaction do not.
  void interrupt_when(std::function<bool()> is_interrupted);
  /// Between statements BYTES were worked on, which counts for when IS_INTERRUPTED is asked. Throws
  /// SqliteError where it says yes.
  void count_work(std::size_t bytes);
  /// Runs SQL, which ends a transaction: nothing interrupts it.
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
  sqlite3_stmt* prepare(std::string_view sql, bool persistent);

  // Of SQLite's virtual machine: about a millisecond.
  static constexpr int kStepsBetweenLooks = 100000;

  void look_at_statements();
  static int look_at_statement(void* self);
  static int wait_for_others(void* self, int times);

  sqlite3* handle_ = nullptr;
  sqlite3_stmt* running_ = nullptr;  // the last that was stepped, while it is there
  std::function<void(std::string_view)> watcher_;
  std::function<bool()> is_interrupted_;
  std::size_t work_ = 0;  // since IS_INTERRUPTED was asked, in bytes, or what takes as long
  bool is_ending_ = false;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  int steps_ = kStepsBetweenLooks;
  std::chrono::milliseconds busy_timeout_{};
  std::chrono::steady_clock::time_point busy_deadline_;
  std::unordered_map<std::string_view, std::unique_ptr<Entry>> statements_;
};

/// BEGIN on construction, ROLLBACK on destruction unless commit() was called.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };
  Transaction(Database& database, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

/// Calls FUNCTION, which returns a Result; a SqliteError that it throws becomes an Error.
template <typename Function>
auto guarded(const std::filesystem::path& path, Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const SqliteError& error) {
    return std::unexpected(error.to_error(path));
  }
}

}  // namespace quarry::repository
