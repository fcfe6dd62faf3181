#include "ticket_schema.h"

#include <fmt/core.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/escape.h"
#include "store/schema.h"
#include "ticket_fields.h"
#include "ticket_restraint.h"

namespace quarry::repository {
namespace {

// Maximum length of the setting, in characters.
constexpr int kMaxTicketTable = 1 << 20;
// Maximum length of a statement in an error message, in bytes.
constexpr std::size_t kMaxShown = 300;

bool begins_with(const char* name, std::string_view prefix) {
  return name != nullptr && ::strncasecmp(name, prefix.data(), prefix.size()) == 0;
}

bool is_of_tickets(const char* name) {
  return begins_with(name, "ticket");
}
bool is_of_extensions(const char* name) {
  return begins_with(name, "fx_");
}

/// The object that a statement creates.
struct Making {
  std::string view;       // name of the view; empty if it is not a view
  bool is_table = false;  // the object is a table or an index
};

/// Returns whether FUNCTION can be slow even with short arguments. For example,
/// `printf('%.*c',1000000000,'x')` loops a billion times.
bool is_endless(std::string_view function) {
  return function == "printf" || function == "format";
}

/// Returns whether the run time of FUNCTION is quadratic in the length of its arguments.
bool is_slow(std::string_view function) {
  constexpr std::array kSlow{"instr", "replace", "trim", "ltrim", "rtrim", "json_patch"};
  return std::ranges::find(kSlow, function) != kSlow.end();
}

/// SQLite's authorizer callback: allows or denies an action of a statement.
int allow(void* context, int action, const char* first, const char* second, const char* database,
          const char* /*trigger*/) {
  auto& making = *static_cast<Making*>(context);
  const auto only_if = [](bool right) { return right ? SQLITE_OK : SQLITE_DENY; };
  const bool is_own = is_of_tickets(first) || is_of_extensions(first);
  switch (action) {
    case SQLITE_CREATE_VIEW:
      making.view = first;
      return only_if(is_own);
    case SQLITE_FUNCTION:
      return only_if(!is_endless(second) && !(making.is_table && is_slow(second)));
    case SQLITE_CREATE_TABLE:
      making.is_table = true;
      return only_if(is_own);
    case SQLITE_DROP_VIEW:
      return only_if(is_own);
    case SQLITE_CREATE_INDEX:
      making.is_table = true;
      [[fallthrough]];
    case SQLITE_DROP_INDEX:
      return only_if(is_of_extensions(first) || is_of_tickets(second));
    case SQLITE_DELETE:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
      if (database == nullptr || std::string_view(database) != "main") return SQLITE_DENY;
      // Allow writes to SQLite's own tables, because every CREATE statement writes them. SQLite
      // itself rejects other writes to these tables.
      return only_if(is_own || begins_with(first, "sqlite_"));
    case SQLITE_REINDEX:
    case SQLITE_SELECT:
    case SQLITE_READ:
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

/// While the object exists, the connection allows only the statements listed in ticket_schema.h.
class Authorization {
 public:
  explicit Authorization(Database& database) : database_(database) {
    sqlite3_set_authorizer(database_.handle(), allow, &making_);
  }
  ~Authorization() { sqlite3_set_authorizer(database_.handle(), nullptr, nullptr); }
  Authorization(const Authorization&) = delete;
  Authorization& operator=(const Authorization&) = delete;

  /// Returns the object that the last statement creates.
  Making& making() const { return making_; }

 private:
  Database& database_;
  mutable Making making_;
};

/// Returns the first statement in SQL, in a form for error messages.
std::string shown(std::string_view sql) {
  const std::size_t begin = sql.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos) sql.remove_prefix(begin);
  for (std::size_t end = sql.find(';'); end != std::string_view::npos;
       end = sql.find(';', end + 1)) {
    const std::string statement(sql.substr(0, end + 1));
    if (sqlite3_complete(statement.c_str()) != 0) return base::printable(statement, kMaxShown);
  }
  return base::printable(sql, kMaxShown);
}

class TicketTableSetting {
 public:
  TicketTableSetting(Database& database, std::string sql)
      : database_(database), sql_(std::move(sql)), restraint_(database) {}

  void run() {
    const Authorization authorization(database_);
    restraint_.run([&] { run_all(authorization); });
  }

 private:
  void run_all(const Authorization& authorization) {
    for (const char* rest = sql_.c_str(); *rest != '\0';) {
      const char* end = rest;
      const Statement statement = prepare(authorization, rest, end);
      // SQLite returns no statement for blanks or a comment.
      if (statement) step(statement.get(), rest);
      rest = end;
    }
  }

  struct Finalized {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalized>;

  Statement prepare(const Authorization& authorization, const char* sql, const char*& end) {
    if (restraint_.is_late()) fail(SQLITE_INTERRUPT, sql);
    const TicketRestraint::Preparing preparing;
    authorization.making() = {};
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(database_.handle(), sql, -1, &statement, &end);
    if (code == SQLITE_ERROR && drop_view(std::string(authorization.making().view))) {
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

  /// Drops the view NAME. Returns false if there is no such view.
  bool drop_view(const std::string& name) {
    if (name.empty()) return false;
    {
      Query query = database_.query(
          "SELECT 1 FROM sqlite_schema WHERE type='view' AND name=?1 COLLATE nocase", name);
      if (!query.step()) return false;
    }
    database_.execute("DROP VIEW " + sql_name(name));
    return true;
  }

  [[noreturn]] void fail(int code, const char* sql) {
    std::string why = restraint_.what_was_too_much(code);
    // SQLite reports an exceeded time limit as SQLITE_INTERRUPT. Replace this code, because callers
    // would take it for an interruption of the request.
    if (!why.empty()) code = SQLITE_ABORT;
    if (why.empty()) why = sqlite3_errmsg(database_.handle());
    throw SqliteError(code, fmt::format("the ticket-table setting: {}: {}", why, shown(sql)));
  }

  Database& database_;
  std::string sql_;
  TicketRestraint restraint_;
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
    Query setting = database.query(
        "SELECT length(value), CASE WHEN length(value)<=?1 THEN value END FROM config"
        " WHERE name='ticket-table' AND value IS NOT NULL",
        kMaxTicketTable);
    const bool is_set = setting.step();
    if (is_set && setting.integer(0) > kMaxTicketTable) {
      throw SqliteError(
          SQLITE_ABORT,
          fmt::format("the ticket-table setting: more than {} characters", kMaxTicketTable));
    }
    if (is_set) sql = setting.text(1);
  }
  TicketTableSetting(database, std::move(sql)).run();
}

}  // namespace quarry::repository
