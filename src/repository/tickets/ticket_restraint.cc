#include "ticket_restraint.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace quarry::repository {
namespace {

// Limits on the size of a statement's text, and on its compiled form.
constexpr int kMaxSql = 64 << 10;
constexpr std::int64_t kMaxPreparation = std::int64_t{4} << 20;
// Limit on the length of a pattern. The time for matching is proportional to the product of the
// lengths of pattern and text.
constexpr int kMaxPattern = 1000;
constexpr int kMaxColumns = 500;
constexpr int kMaxCompound = 50;
constexpr int kMaxOperations = 100000;

}  // namespace

void TicketRestraint::allow(std::size_t size) {
  stored_ = std::min<std::size_t>(stored_ + size, std::numeric_limits<int>::max() / 8);
}

std::string TicketRestraint::what_was_too_much(int code) const {
  switch (code & 0xFF) {
    case SQLITE_INTERRUPT:
      return is_late() ? fmt::format("it took longer than {} s", kMaxTime.count()) : std::string();
    case SQLITE_NOMEM:
      return "it took too much memory";
    default:
      return {};
  }
}

TicketRestraint::Preparing::Preparing()
    : heap_limit_(sqlite3_hard_heap_limit64(sqlite3_memory_used() + kMaxPreparation)) {}

TicketRestraint::Preparing::~Preparing() {
  sqlite3_hard_heap_limit64(heap_limit_);
}

TicketRestraint::Held::Held(TicketRestraint& restraint) : database_(restraint.database_) {
  restraint.deadline_ = std::chrono::steady_clock::now() + kMaxTime;
  // Check after each step, because a single step can take a long time.
  database_.set_deadline(restraint.deadline_, /*steps=*/1);
  const int stored = static_cast<int>(restraint.stored_);
  lower(limits_[0], SQLITE_LIMIT_LENGTH, kMaxLength + 4 * stored);
  lower(limits_[1], SQLITE_LIMIT_SQL_LENGTH, kMaxSql);
  lower(limits_[2], SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kMaxPattern);
  lower(limits_[3], SQLITE_LIMIT_COLUMN, kMaxColumns);
  lower(limits_[4], SQLITE_LIMIT_COMPOUND_SELECT, kMaxCompound);
  lower(limits_[5], SQLITE_LIMIT_VDBE_OP, kMaxOperations);
  // The heap limit can only be set for the whole process. This is acceptable, because the process
  // does not do other work in the meantime.
  heap_limit_ = sqlite3_hard_heap_limit64(sqlite3_memory_used() + kMaxMemory +
                                          8 * static_cast<std::int64_t>(stored));
}

TicketRestraint::Held::~Held() {
  sqlite3_hard_heap_limit64(heap_limit_);
  for (const Limit& limit : limits_) sqlite3_limit(database_.handle(), limit.id, limit.before);
  database_.set_deadline(std::nullopt);
}

void TicketRestraint::Held::lower(Limit& limit, int id, int value) {
  limit = {id, sqlite3_limit(database_.handle(), id, -1)};
  sqlite3_limit(database_.handle(), id, std::min(limit.before, value));
}

}  // namespace quarry::repository
