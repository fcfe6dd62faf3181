#include "ticket_schema.h"

#include <fmt/core.h>
#include <strings.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/escape.h"
#include "schema.h"
#include "ticket_fields.h"

namespace quarry::repository {
namespace {

// What makes tables takes milliseconds; nobody else writes meanwhile.
constexpr std::chrono::seconds kMostTime{5};
// How much of a statement an error shows, in bytes.
constexpr std::size_t kMostShown = 300;

bool begins_with(const char* name, std::string_view prefix) {
  return name != nullptr && ::strncasecmp(name, prefix.data(), prefix.size()) == 0;
}

bool is_of_tickets(const char* name) {
  return begins_with(name, "ticket");
}
bool is_of_extensions(const char* name) {
  return begins_with(name, "fx_");
}

/// SQLite's authorizer.
int allow(void* view, int action, const char* first, const char* second, const char* database,
          const char* /*trigger*/) {
  const auto only_if = [](bool right) { return right ? SQLITE_OK : SQLITE_DENY; };
  const bool is_own = is_of_tickets(first) || is_of_extensions(first);
  switch (action) {
    case SQLITE_CREATE_VIEW:
      *static_cast<std::string*>(view) = first;
      return only_if(is_own);
    case SQLITE_CREATE_TABLE:
    case SQLITE_DROP_VIEW:
      return only_if(is_own);
    case SQLITE_CREATE_INDEX:
    case SQLITE_DROP_INDEX:
      return only_if(is_of_extensions(first) || is_of_tickets(second));
    case SQLITE_DELETE:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
      if (database == nullptr || std::string_view(database) != "main") return SQLITE_DENY;
      // Its own schema SQLite guards itself.
      return only_if(is_own || begins_with(first, "sqlite_"));
    case SQLITE_REINDEX:
    case SQLITE_SELECT:
    case SQLITE_FUNCTION:
    case SQLITE_READ:
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

/// While it lives, the connection does what the head of this module allows, for some seconds.
class Restraint {
 public:
  explicit Restraint(Database& database) : database_(database) {
    sqlite3_set_authorizer(database_.handle(), allow, &last_view_);
    database_.set_deadline(std::chrono::steady_clock::now() + kMostTime);
  }
  ~Restraint() {
    sqlite3_set_authorizer(database_.handle(), nullptr, nullptr);
    database_.set_deadline(std::nullopt);
  }
  Restraint(const Restraint&) = delete;
  Restraint& operator=(const Restraint&) = delete;

  /// The view that the last statement wants to make; empty for none.
  std::string& last_view() { return last_view_; }

 private:
  Database& database_;
  std::string last_view_;
};

/// The first statement of SQL, for people.
std::string shown(std::string_view sql) {
  const std::size_t begin = sql.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos) sql.remove_prefix(begin);
  for (std::size_t end = sql.find(';'); end != std::string_view::npos;
       end = sql.find(';', end + 1)) {
    const std::string statement(sql.substr(0, end + 1));
    if (sqlite3_complete(statement.c_str()) != 0) return base::printable(statement, kMostShown);
  }
  return base::printable(sql, kMostShown);
}

class Setting {
 public:
  Setting(Database& database, std::string sql) : database_(database), sql_(std::move(sql)) {}

  void run() {
    Restraint restraint(database_);
    for (const char* rest = sql_.c_str(); *rest != '\0';) {
      const char* end = rest;
      const Statement statement = prepare(restraint, rest, end);
      // None: blanks, or a comment.
      if (statement) step(statement.get(), rest);
      rest = end;
    }
  }

 private:
  struct Finalized {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalized>;

  Statement prepare(Restraint& restraint, const char* sql, const char*& end) {
    restraint.last_view().clear();
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(database_.handle(), sql, -1, &statement, &end);
    if (code == SQLITE_ERROR && drop_view(std::string(restraint.last_view()))) {
      code = sqlite3_prepare_v2(database_.handle(), sql, -1, &statement, &end);
    }
    if (code != SQLITE_OK) fail(code, sql);
    return Statement(statement);
  }

  void step(sqlite3_stmt* statement, const char* sql) {
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = sqlite3_step(statement);
    if (code != SQLITE_DONE) fail(code, sql);
  }

  /// False: there is none of that name.
  bool drop_view(const std::string& name) {
    if (name.empty()) return false;
    {
      Query query = database_.query(
          "SELECT 1 FROM sqlite_schema WHERE type='view' AND name=?1 COLLATE nocase");
      if (!query.bind(1, std::string_view(name)).step()) return false;
    }
    database_.execute("DROP VIEW " + sql_name(name));
    return true;
  }

  [[noreturn]] void fail(int code, const char* sql) {
    const bool is_late = (code & 0xFF) == SQLITE_INTERRUPT;
    const std::string why = is_late ? fmt::format("longer than {} s", kMostTime.count())
                                    : sqlite3_errmsg(database_.handle());
    throw SqliteError(code, fmt::format("the setting ticket-table: {}: {}", why, shown(sql)));
  }

  Database& database_;
  std::string sql_;
};

void drop_ticket_tables(Database& database) {
  std::vector<std::string> tables;
  {
    Query query =
        database.query("SELECT name FROM sqlite_schema WHERE type='table' AND name LIKE 'ticket%'");
    while (query.step()) tables.emplace_back(query.text(0));
  }
  for (const std::string& table : tables) database.execute("DROP TABLE " + sql_name(table));
}

}  // namespace

void make_ticket_tables(Database& database) {
  drop_ticket_tables(database);
  std::string sql = kTicketSchema;
  {
    Query setting = database.query("SELECT value FROM config WHERE name='ticket-table'");
    if (setting.step() && !setting.is_null(0)) sql = setting.text(0);
  }
  Setting(database, std::move(sql)).run();
}

}  // namespace quarry::repository
