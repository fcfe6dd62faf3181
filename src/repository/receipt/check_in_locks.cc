// Check-in locks. A lock records that a client is about to commit a child of a check-in.
//
//   config   `ci-lock-HASH` · {"login":…,"clientid":…} · mtime is the time of the lock
//
// A lock ends after `lock-timeout` seconds (default 60), when the check-in is no longer a leaf, or
// when its owner releases it. Locks are advisory: a second client gets a warning.

#include <vector>

#include "receipt_state.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

constexpr std::string_view kPrefix = "ci-lock-";

struct LockRow {
  std::string name;
  std::string login;
  std::string client;
  std::int64_t since;
  bool is_leaf;
};

std::vector<LockRow> read_locks(Database& database) {
  std::vector<LockRow> rows;
  Query query = database.query(
      "SELECT name, json_extract(value,'$.login'), json_extract(value,'$.clientid'), mtime,"
      " EXISTS(SELECT 1 FROM leaf WHERE rid=b.rid)"
      // A check-in that has not arrived yet is treated as a leaf.
      " OR NOT EXISTS(SELECT 1 FROM plink WHERE pid=b.rid)"
      " FROM config INDEXED BY sqlite_autoindex_config_1"
      " LEFT JOIN blob AS b ON b.uuid=substr(name,9) WHERE name GLOB 'ci-lock-*' AND "
      "json_valid(value)");
  while (query.step()) {
    rows.push_back({std::string(query.text(0)), std::string(query.text(1)),
                    std::string(query.text(2)), query.integer(3), query.integer(4) != 0});
  }
  return rows;
}

/// Returns whether CHECK_IN is a leaf, or has not arrived yet.
bool may_lock(Database& database, const HashName& check_in) {
  return database.has_row(
      "SELECT 1 FROM (SELECT (SELECT rid FROM blob WHERE uuid=?1) AS rid) AS b"
      " WHERE EXISTS(SELECT 1 FROM leaf WHERE rid=b.rid)"
      " OR NOT EXISTS(SELECT 1 FROM plink WHERE pid=b.rid)",
      check_in.str());
}

}  // namespace

Result<std::optional<CheckInLock>> Receipt::lock_check_in(
    const HashName& check_in, const std::optional<std::string>& login, std::string_view client,
    const std::optional<CheckInLock>& elsewhere) {
  using Answer = std::optional<CheckInLock>;
  return guarded(state_->r, [&](RepositoryState& r) {
    if (r.derivation.has_pending()) r.derivation.run();
    std::int64_t timeout = kCheckInLockSeconds;
    {
      Query query =
          r.database.query("SELECT CAST(value AS INTEGER) FROM config WHERE name='lock-timeout'");
      if (query.step()) timeout = query.integer(0);
    }
    const std::int64_t now = r.options.clock->now().value / 1000;
    const std::string wanted = std::string(kPrefix) + std::string(check_in.str());
    Answer held;
    bool is_taken = false;
    for (const LockRow& row : read_locks(r.database)) {
      if (row.since <= now - timeout || !row.is_leaf) {
        r.database.execute("DELETE FROM config WHERE name=?1", row.name);
      } else if (row.name == wanted) {
        is_taken = true;
        if (row.client != client) held = {.login = row.login, .since = row.since};
      }
    }
    if (!is_taken && elsewhere && may_lock(r.database, check_in)) return Answer(elsewhere);
    if (!is_taken) {
      r.database.execute(
          "REPLACE INTO config(name,value,mtime)"
          " VALUES(?1,json_object('login',?2,'clientid',?3),?4)",
          wanted, login, client, now);
    }
    return held;
  });
}

Result<std::vector<std::string>> Receipt::unlock_check_ins(std::string_view client) {
  return guarded(state_->r, [&](RepositoryState& r) {
    std::vector<std::string> check_ins;
    Query query = r.database.query(
        "DELETE FROM config INDEXED BY sqlite_autoindex_config_1 WHERE name GLOB 'ci-lock-*'"
        " AND (NOT json_valid(value) OR json_extract(value,'$.clientid')=?1)"
        " RETURNING substr(name,9)",
        client);
    while (query.step()) check_ins.emplace_back(query.text(0));
    return check_ins;
  });
}

}  // namespace quarry::repository
