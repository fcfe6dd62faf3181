#include "ticket_fields.h"

#include <fmt/core.h>

#include <algorithm>

namespace quarry::repository {
namespace {

constexpr std::string_view kOwnColumn = "tkt_";
constexpr std::string_view kBaseline = "baseline for ";

bool has_made_column(Database& database, const char* table) {
  return database.has_row("SELECT 1 FROM pragma_table_xinfo(?1) WHERE name='mimetype'", table);
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
    if (at == fields.end()) at = fields.insert(at, {.name = std::string(name)});
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
  {
    Query index = database.query(
        "SELECT l.name FROM pragma_index_list('ticketchng') AS l"
        " CROSS JOIN pragma_index_info(l.name) AS i"
        " WHERE i.seqno=0 AND i.name='tkt_id' AND NOT l.partial");
    if (index.step()) change_index = index.text(0);
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

}  // namespace quarry::repository
