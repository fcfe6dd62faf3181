#include "ticket_fields.h"

#include <fmt/core.h>

#include <algorithm>

#include "schema.h"

namespace quarry::repository {
namespace {

constexpr std::string_view kOwnColumn = "tkt_";
constexpr std::string_view kBaseline = "baseline for ";

bool has_made_column(Database& database, const char* table) {
  return database.query("SELECT 1 FROM pragma_table_xinfo(?1) WHERE name='mimetype'")
      .bind(1, table)
      .step();
}

bool is_ticket_table(const char* name) {
  if (name == nullptr) return false;
  const std::string_view text(name);
  return text == "ticket" || text == "ticketchng" || text.starts_with("fx_") ||
         text.starts_with("sqlite_");
}

/// What the SQL of `ticket-table` may do: make those two tables and what belongs to them.
int allow_ticket_schema(void* /*unused*/, int action, const char* first, const char* second,
                        const char* database, const char* /*trigger*/) {
  if (database != nullptr && std::string_view(database) == "temp") return SQLITE_DENY;
  switch (action) {
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_TABLE:
    case SQLITE_DELETE:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
      return is_ticket_table(first) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TRIGGER:
      return is_ticket_table(second) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_REINDEX:
    case SQLITE_SELECT:
    case SQLITE_FUNCTION:
    case SQLITE_READ:
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

TicketFields::TicketFields(Database& database) {
  std::vector<std::string> integers;
  const auto add = [&](std::string_view name, bool is_in_ticket) {
    if (name.find(' ') != std::string_view::npos) return;
    auto at = std::find_if(fields.begin(), fields.end(),
                           [&](const TicketField& field) { return field.name == name; });
    if (at == fields.end()) at = fields.insert(at, {.name = std::string(name), .baseline = {}});
    (is_in_ticket ? at->is_in_ticket : at->is_in_change) = true;
  };
  {
    Query columns = database.query("SELECT name, type FROM pragma_table_info('ticket')");
    while (columns.step()) {
      const std::string_view name = columns.text(0);
      has_ticket = true;
      if (name == "tkt_ctime") has_creation_time = true;
      if (columns.text(1) == "INTEGER") integers.emplace_back(name);
      if (!name.starts_with(kOwnColumn)) add(name, true);
    }
  }
  {
    Query columns = database.query("SELECT name FROM pragma_table_info('ticketchng')");
    while (columns.step()) {
      const std::string_view name = columns.text(0);
      has_changes = true;
      if (name == "tkt_rid") has_change_rid = true;
      if (name == "tkt_user") has_change_user = true;
      if (!name.starts_with(kOwnColumn)) add(name, false);
    }
  }
  for (TicketField& field : fields) {
    std::string baseline = fmt::format("{}{}", kBaseline, field.name);
    if (std::ranges::find(integers, baseline) != integers.end()) field.baseline = baseline;
  }
  std::ranges::sort(fields, {}, &TicketField::name);
  if (find("mimetype") < 0) {
    ticket_makes_mimetype = has_made_column(database, "ticket");
    change_makes_mimetype = has_made_column(database, "ticketchng");
  }
}

int TicketFields::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(
      fields, name, {}, [](const TicketField& field) { return std::string_view(field.name); });
  if (at == fields.end() || at->name != name) return -1;
  return static_cast<int>(at - fields.begin());
}

void make_ticket_tables(Database& database) {
  database.execute("DROP TABLE IF EXISTS ticket; DROP TABLE IF EXISTS ticketchng");
  std::string sql = kTicketSchema;
  {
    Query setting = database.query("SELECT value FROM config WHERE name='ticket-table'");
    if (setting.step() && !setting.is_null(0)) sql = setting.text(0);
  }
  struct Watch {
    explicit Watch(sqlite3* handle) : handle_(handle) {
      sqlite3_set_authorizer(handle_, allow_ticket_schema, nullptr);
    }
    ~Watch() { sqlite3_set_authorizer(handle_, nullptr, nullptr); }
    sqlite3* handle_;
  } watch(database.handle());
  database.execute(sql);
}

}  // namespace quarry::repository
