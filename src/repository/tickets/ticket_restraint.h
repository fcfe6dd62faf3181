// Limits the time and memory for the SQL of the project's own ticket tables.
//
// The SQL comes from the `ticket-table` setting, or is part of the tables that the setting defined
// (computed columns, CHECKs, indexes on expressions). Any user with the right to push configuration
// can write this SQL. SQLite checks the time only between two steps of its virtual machine, and an
// SQL function runs in a single step. Therefore, the length of texts and blobs is also limited. The
// limit is large enough for definitions and values, but so small that every function takes less
// than a second.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "store/database.h"

namespace quarry::repository {

class TicketRestraint {
 public:
  static constexpr std::chrono::seconds kMaxTime{5};
  /// Limit on memory that is allocated in addition to SQLite's memory at the start, in bytes.
  static constexpr std::int64_t kMaxMemory = std::int64_t{64} << 20;
  /// Maximum length of a text or blob, unless a stored value is longer.
  static constexpr int kMaxLength = 32 << 10;

  explicit TicketRestraint(Database& database) : database_(database) {}

  /// Raises the limit on the length of texts, so that a value of SIZE bytes can be stored. The
  /// sizes from all calls are added up.
  void allow(std::size_t size);

  /// Calls WORK, which runs the statements, and returns its result. The time limit starts with the
  /// call. Throws SqliteError with the code SQLITE_ABORT if a limit is exceeded, and rethrows
  /// exceptions of WORK.
  template <typename Work>
  auto run(Work work) {
    const Held held(*this);
    try {
      return work();
    } catch (const SqliteError& error) {
      const std::string what = what_was_too_much(error.code());
      if (what.empty()) throw;
      throw SqliteError(SQLITE_ABORT, what);
    }
  }
  /// If a statement failed with CODE because of a limit, returns a description of the limit.
  /// Otherwise, returns an empty string.
  std::string what_was_too_much(int code) const;
  /// Returns whether the time limit has passed. Call inside run().
  bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }

  /// Must exist while a statement is prepared. Preparing cannot be interrupted, so its time is
  /// bounded by a memory limit. Without the limit, a few nested views could take forever: if each
  /// view refers twice to the next view, each level doubles the time.
  class Preparing {
   public:
    Preparing();
    ~Preparing();
    Preparing(const Preparing&) = delete;
    Preparing& operator=(const Preparing&) = delete;

   private:
    std::int64_t heap_limit_;
  };

 private:
  /// Applies the limits while the object exists.
  class Held {
   public:
    explicit Held(TicketRestraint& restraint);
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    struct Limit {
      int id, before;
    };
    void lower(Limit& limit, int id, int value);

    Database& database_;
    std::array<Limit, 6> limits_{};
    std::int64_t heap_limit_;
  };

  Database& database_;
  std::chrono::steady_clock::time_point deadline_;
  std::size_t stored_ = 0;
};

}  // namespace quarry::repository
