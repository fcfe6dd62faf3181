// Limits the time and memory that the SQL of the project's own ticket tables may use.
//
// The SQL comes from the setting `ticket-table`, or is part of the tables that the setting defined
// (computed columns, CHECKs, indexes on expressions). Any user who may push configuration can write
// it. SQLite checks the time only between two steps of its virtual machine, and a single step may
// call an SQL function. So the length of texts and blobs is limited too. The limit is large enough
// for definitions and values, but small enough that no function takes a second.
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
  /// Memory that may be used in addition to what SQLite uses at the start, in bytes.
  static constexpr std::int64_t kMaxMemory = std::int64_t{64} << 20;
  /// The longest text or blob, unless a stored value is longer.
  static constexpr int kMaxLength = 32 << 10;

  explicit TicketRestraint(Database& database) : database_(database) {}

  /// Raises the limit for a value of SIZE bytes that will be stored. A text may be as long as all
  /// such values together.
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
  /// The exceeded limit, if a statement failed with CODE because of a limit; otherwise empty.
  std::string what_was_too_much(int code) const;
  /// Whether the time limit has passed. Call inside run().
  bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }

  /// Must exist while a statement is prepared. Preparing cannot be interrupted, so its time is
  /// bounded by a memory limit. Nested views, each of which refers twice to the next, would
  /// otherwise double the time at each level.
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
