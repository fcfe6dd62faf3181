// What the SQL of the project's own ticket tables may take: a time, and memory.
//
// It comes from the setting `ticket-table`, or is in the tables that it made (computed columns,
// CHECKs, indexes on expressions), and anybody who may push configuration can write it. SQLite asks
// for the time between two steps of its virtual machine, and a step may be one call of an SQL
// function; so texts and blobs are bounded too, by what is long enough for definitions and values,
// and so short that no function takes a second with them.
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
  static constexpr std::chrono::seconds kMostTime{5};
  /// Beyond what SQLite has when it begins, in bytes.
  static constexpr std::int64_t kMostMemory = std::int64_t{64} << 20;
  /// The longest text or blob, where no value that is stored is longer.
  static constexpr int kMostLength = 32 << 10;

  explicit TicketRestraint(Database& database) : database_(database) {}

  /// A value of SIZE bytes is to be stored: there may be texts as long as all of these together.
  void allow(std::size_t size);

  /// What WORK gives, which runs the statements. Its time begins now. Throws SqliteError of the
  /// code SQLITE_ABORT where it takes too much, and what it throws otherwise.
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
  /// What was too much where a statement ended with CODE; empty for anything else.
  std::string what_was_too_much(int code) const;
  /// Inside run(): whether its time is up.
  bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }

  /// While it lives, a statement may be prepared. Nothing interrupts that: its memory bounds its
  /// time, which views that name one another twice would double with each.
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
  /// While it lives, the restraint holds.
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
