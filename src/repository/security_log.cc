#include "quarry/repository/security_log.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "quarry/artifact/digest.h"
#include "quarry/repository/receipt.h"
#include "repository_state.h"

namespace quarry::repository {
namespace {

// Maximum number of bytes per text from the logs. Users can write texts of any length to the logs.
constexpr std::int64_t kMaxLoggedText = 1000;

bool has_users(Database& database) {
  return database.has_table("fx_quarry_users");
}

/// Returns a fingerprint of SECRET. The fingerprint shows whether the password has changed, but
/// does not reveal anything else.
std::string trace_of(std::string_view login, std::string_view secret) {
  constexpr std::size_t kDigits = 16;
  std::string text(login);
  text += '\n';
  text += secret;
  return artifact::sha3_256_hex(text).substr(0, kDigits);
}

/// The rows of a log after POSITION and up to LAST. At most LIMIT row ids are tried. Each row is
/// looked up by its row id, because SQLite might use a bad plan for a range query if its statistics
/// are outdated.
class LogRows {
 public:
  /// ROW is a query for one row. Its last unbound parameter must be the id of the row. Advances
  /// POSITION.
  LogRows(Query row, std::int64_t& position, std::int64_t last, std::size_t limit)
      : row_(std::move(row)),
        position_(position),
        end_(std::min(last, position + static_cast<std::int64_t>(limit))) {}

  bool step() {
    while (position_ < end_) {
      row_.rewind();
      if (row_.bind(++position_).step()) return true;
    }
    return false;
  }
  const Query& row() const { return row_; }

 private:
  Query row_;
  std::int64_t& position_;
  std::int64_t end_;
};

void read_failed_logins(Database& database, std::int64_t last, std::size_t limit,
                        SecurityNews& news) {
  Query query = database.query(
      "SELECT substr(uname,1,?2), substr(ipaddr,1,?2), success, mtime FROM accesslog"
      " WHERE rowid=?1");
  query.set(2, kMaxLoggedText);
  LogRows rows(std::move(query), news.mark.access, last, limit);
  while (rows.step()) {
    const Query& row = rows.row();
    if (row.integer(2) != 0) continue;
    const bool goes_on = !news.failed.empty() && news.failed.back().user == row.text(0) &&
                         news.failed.back().address == row.text(1);
    if (!goes_on) {
      news.failed.push_back(
          {.user = std::string(row.text(0)), .address = std::string(row.text(1))});
    }
    FailedLogins& failed = news.failed.back();
    ++failed.count;
    failed.last_row = news.mark.access;
    failed.last = base::from_julian_day(row.real(3));
  }
}

void read_actions(Database& database, std::int64_t last, std::size_t limit, SecurityNews& news) {
  Query query =
      database.query("SELECT time, substr(who,1,?2), substr(what,1,?2) FROM admin_log WHERE id=?1");
  query.set(2, kMaxLoggedText);
  LogRows rows(std::move(query), news.mark.admin, last, limit);
  while (rows.step()) {
    const Query& row = rows.row();
    news.actions.push_back({.row = news.mark.admin,
                            .time = {row.integer(0) * 1000},
                            .user = std::string(row.text(1)),
                            .what = std::string(row.text(2))});
  }
}

void read_users(Database& database, SecurityNews& news) {
  using What = UserChange::What;
  const auto add = [&](What what, std::string_view login, std::string_view now,
                       std::string_view before) {
    news.users.push_back({std::string(login), what, std::string(now), std::string(before)});
  };
  Query users = database.query(
      "SELECT user.login, coalesce(user.cap,''), coalesce(user.pw,''), known.cap, known.trace"
      " FROM user LEFT JOIN fx_quarry_users AS known ON known.login=user.login"
      " WHERE length(user.login)>0");
  while (users.step()) {
    const std::string_view login = users.text(0);
    if (users.is_null(4)) {
      add(What::kNew, login, users.text(1), "");
      continue;
    }
    if (users.text(1) != users.text(3)) {
      add(What::kCapabilities, login, users.text(1), users.text(3));
    }
    if (trace_of(login, users.text(2)) != users.text(4)) {
      add(What::kSecret, login, users.text(1), "");
    }
  }
  Query gone = database.query(
      "SELECT known.login, known.cap FROM fx_quarry_users AS known"
      " WHERE NOT EXISTS(SELECT 1 FROM user WHERE user.login=known.login)");
  while (gone.step()) {
    add(What::kGone, gone.text(0), "", gone.text(1));
  }
}

/// The properties of a user that are compared.
struct ComparedUser {
  std::string capabilities;
  std::string trace;
  friend bool operator==(const ComparedUser&, const ComparedUser&) = default;
};

std::optional<ComparedUser> current_user(Database& database, std::string_view login) {
  Query user =
      database.query("SELECT coalesce(cap,''), coalesce(pw,'') FROM user WHERE login=?1", login);
  if (!user.step()) return std::nullopt;
  return ComparedUser{std::string(user.text(0)), trace_of(login, user.text(1))};
}

std::optional<ComparedUser> saved_user(Database& database, std::string_view login) {
  Query user = database.query("SELECT cap, trace FROM fx_quarry_users WHERE login=?1", login);
  if (!user.step()) return std::nullopt;
  return ComparedUser{std::string(user.text(0)), std::string(user.text(1))};
}

}  // namespace

bool SecurityLog::knows_users() {
  return has_users(repository_.internals().database);
}

Result<SecurityMark> SecurityLog::end() {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    SecurityMark mark;
    Database& database = state.database;
    if (database.has_table("accesslog")) {
      mark.access = database.first_integer("SELECT max(rowid) FROM accesslog");
    }
    if (database.has_table("admin_log")) {
      mark.admin = database.first_integer("SELECT max(id) FROM admin_log");
    }
    return mark;
  });
}

Result<SecurityNews> SecurityLog::after(const SecurityMark& mark, std::size_t limit) {
  return guarded(repository_.internals(), [&](auto& state) -> Result<SecurityNews> {
    SecurityNews news{.mark = mark, .is_at_end = true};
    // Clamp the mark to the last row. After rows are deleted, new rows can reuse their ids, and
    // would otherwise be skipped.
    QUARRY_TRY_ASSIGN(const SecurityMark last, end());
    news.mark.access = std::min(news.mark.access, last.access);
    news.mark.admin = std::min(news.mark.admin, last.admin);
    if (last.access > news.mark.access) {
      read_failed_logins(state.database, last.access, limit, news);
    }
    if (last.admin > news.mark.admin) read_actions(state.database, last.admin, limit, news);
    if (has_users(state.database)) read_users(state.database, news);
    news.is_at_end = news.mark == last;
    return news;
  });
}

Result<bool> SecurityLog::has_changed(std::string_view login) {
  return guarded(repository_.internals(), [&](Database& database) {
    return !has_users(database) || current_user(database, login) != saved_user(database, login);
  });
}

Result<void> SecurityLog::note_user(std::string_view login) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute("DELETE FROM fx_quarry_users WHERE login=?1", login);
    const auto user = current_user(database, login);
    if (!user) return;
    database.execute("INSERT INTO fx_quarry_users VALUES(?1,?2,?3)", login, user->capabilities,
                     user->trace);
  });
}

Result<void> SecurityLog::note_users() {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    Database& database = state.database;
    if (!has_users(database)) {
      database.execute(
          "CREATE TABLE fx_quarry_users(login TEXT PRIMARY KEY, cap TEXT NOT NULL,"
          " trace TEXT NOT NULL) WITHOUT ROWID");
    }
    database.query("DELETE FROM fx_quarry_users").run();
    Query users = database.query(
        "SELECT login, coalesce(cap,''), coalesce(pw,'') FROM user WHERE length(login)>0");
    Query known = database.query("INSERT OR IGNORE INTO fx_quarry_users VALUES(?1,?2,?3)");
    while (users.step()) {
      const std::string trace = trace_of(users.text(0), users.text(2));
      known.bind(users.text(0), users.text(1), trace).run();
    }
  });
}

}  // namespace quarry::repository
