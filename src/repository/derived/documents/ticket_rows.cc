#include "ticket_rows.h"

#include <fmt/core.h>

#include "derived/common/backlinks.h"
#include "derived/common/printed_day.h"

namespace quarry::repository {

using artifact::Structural;

void Ticket::forget() {
  restraint_.run([&] { remove_rows(); });
}

void Ticket::remove_rows() {
  {
    Query query = database_.query_once("SELECT tkt_id FROM ticket WHERE tkt_uuid=?1", id_);
    if (query.step()) row_ = query.integer(0);
  }
  if (row_ == 0) return;
  if (fields_.has_changes) {
    // Without INDEXED BY, SQLite might scan the changes of all tickets if its statistics are
    // outdated.
    const std::string index =
        fields_.change_index.empty() ? "" : " INDEXED BY " + sql_name(fields_.change_index);
    database_.query_once(fmt::format("DELETE FROM ticketchng{} WHERE tkt_id=?1", index), row_)
        .run();
  }
  database_.query_once("DELETE FROM ticket WHERE tkt_id=?1", row_).run();
}

/// Applies CHANGE to the row. Returns the mimetype from a computed column, if there is one.
std::optional<std::string> Ticket::update_ticket(Rid rid, const Structural& change, double day) {
  std::string sql = "UPDATE OR REPLACE ticket SET tkt_mtime=?1";
  if (fields_.has_creation_time) sql += ", tkt_ctime=coalesce(tkt_ctime,?1)";
  std::vector<std::string_view> values;
  for (const artifact::TicketField& card : change.ticket_fields) {
    const int at = fields_.find(card.name);
    if (at < 0 || !fields_.fields[static_cast<std::size_t>(at)].is_in_ticket) continue;
    const TicketField& field = fields_.fields[static_cast<std::size_t>(at)];
    values.push_back(card.value);
    const std::string column = sql_name(field.name);
    if (card.appends) {
      sql += fmt::format(", {}=coalesce({},'') || ?{}", column, column, values.size() + 2);
      continue;
    }
    sql += fmt::format(", {}=?{}", column, values.size() + 2);
    if (!field.baseline.empty()) sql += fmt::format(", {}={}", sql_name(field.baseline), rid);
  }
  sql += " WHERE tkt_id=?2";
  if (fields_.ticket_makes_mimetype) sql += " RETURNING mimetype";
  Query update = database_.query_once(sql, day, row_);
  for (std::size_t i = 0; i < values.size(); ++i) update.set(static_cast<int>(i) + 3, values[i]);
  std::optional<std::string> mimetype;
  while (update.step()) {
    if (fields_.ticket_makes_mimetype && !update.is_null(0)) mimetype = update.text(0);
  }
  return mimetype;
}

std::optional<std::string> Ticket::add_change(Rid rid, const Structural& change, double day) {
  std::string columns, values;
  std::vector<std::string_view> texts;
  const auto add = [&](std::string_view column, std::string_view text) {
    texts.push_back(text);
    columns += fmt::format(",{}", column);
    values += fmt::format(",?{}", texts.size() + 2);
  };
  std::vector<bool> is_given(fields_.fields.size());
  for (const artifact::TicketField& card : change.ticket_fields) {
    const int found = fields_.find(card.name);
    if (found < 0) continue;
    const auto at = static_cast<std::size_t>(found);
    is_given[at] = true;
    if (fields_.fields[at].is_in_change) add(sql_name(card.name), card.value);
  }
  if (columns.empty() && !fields_.has_change_rid && !fields_.has_change_user) return std::nullopt;
  if (fields_.has_change_rid) {
    columns += ",tkt_rid";
    values += fmt::format(",{}", rid);
  }
  if (fields_.has_change_user && change.has_user) add("tkt_user", change.user);
  // If a field is in both tables and the change does not set the field, its value is copied from
  // the ticket.
  for (std::size_t at = 0; at < is_given.size(); ++at) {
    const TicketField& field = fields_.fields[at];
    if (is_given[at] || !field.is_in_ticket || !field.is_in_change) continue;
    columns += fmt::format(",{}", sql_name(field.name));
    values += fmt::format(",{}", sql_name(field.name));
  }
  Query insert = database_.query_once(
      fmt::format(
          "INSERT INTO ticketchng(tkt_id,tkt_mtime{}) SELECT ?2,?1{} FROM ticket WHERE tkt_id=?2{}",
          columns, values, fields_.change_makes_mimetype ? " RETURNING mimetype" : ""),
      day, row_);
  for (std::size_t i = 0; i < texts.size(); ++i) insert.set(static_cast<int>(i) + 3, texts[i]);
  std::optional<std::string> mimetype;
  while (insert.step()) {
    if (fields_.change_makes_mimetype && !insert.is_null(0)) mimetype = insert.text(0);
  }
  return mimetype;
}

void Ticket::apply(Rid rid, const Structural& change, double day) {
  for (const artifact::TicketField& card : change.ticket_fields) {
    restraint_.allow(card.name.size() + card.value.size());
  }
  restraint_.run([&] { write_rows(rid, change, day); });
}

void Ticket::write_rows(Rid rid, const Structural& change, double day) {
  if (!exists_) {
    database_
        .query_once("INSERT INTO ticket(tkt_id,tkt_uuid,tkt_mtime) VALUES(nullif(?1,0),?2,0)", row_,
                    id_)
        .run();
    if (row_ == 0) row_ = database_.last_insert_rowid();
    exists_ = true;
  }
  std::optional<std::string> of_ticket = update_ticket(rid, change, day);
  std::optional<std::string> of_change;
  if (fields_.has_changes) of_change = add_change(rid, change, day);
  // If the computed column of one table is missing or empty, the computed column of the other table
  // is used.
  if (!of_ticket) of_ticket = of_change;
  if (!of_change) of_change = of_ticket;
  if (fields_.find("mimetype") >= 0) {
    for (const artifact::TicketField& card : change.ticket_fields) {
      if (card.name == "mimetype") of_ticket = of_change = std::string(card.value);
    }
  }
  note_links(rid, change, markup_of(of_ticket), markup_of(of_change), day);
}

void Ticket::note_links(Rid rid, const Structural& change, Markup of_ticket, Markup of_change,
                        double day) {
  for (const artifact::TicketField& card : change.ticket_fields) {
    const int at = fields_.find(card.name);
    if (at < 0) continue;
    if (fields_.fields[static_cast<std::size_t>(at)].is_in_change) {
      add_backlinks(database_, BacklinkSource::kTicket, rid, text_links(card.value, of_change),
                    printed_day(database_, day));
      continue;
    }
    std::vector<Latest>& values = latest_[at];
    if (!card.appends) values.clear();
    values.push_back({rid, std::string(card.value), of_ticket, day});
  }
}

void Ticket::write_latest_links() {
  for (const auto& [field, values] : latest_) {
    for (const Latest& latest : values) {
      add_backlinks(database_, BacklinkSource::kTicket, latest.rid,
                    text_links(latest.value, latest.markup), printed_day(database_, latest.day));
    }
  }
}

std::string Ticket::value_of(const std::string& column) {
  return restraint_.run([&]() -> std::string {
    Query query = database_.query_once(
        fmt::format("SELECT {} FROM ticket WHERE tkt_uuid=?1", sql_name(column)), id_);
    return query.step() ? std::string(query.text(0)) : "unknown";
  });
}

}  // namespace quarry::repository
