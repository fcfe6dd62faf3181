// Tickets: their fields are computed by applying the changes in the order of their dates.
//
//   ticket, ticketchng  the repository's own tables, see ticket_fields.h
//   event               a row for each change, with the title and status of the ticket at that time
//   backlink            the links in the texts that a change adds to ticketchng, and the links in
//                       the latest values in ticket. A link in a latest value belongs to the change
//                       that set this value
//
// The date of a new change can be between the dates of other changes, so the whole ticket is
// recomputed.

#include "tickets.h"

#include <fmt/core.h>

#include <utility>

#include "derived/common/backlinks.h"
#include "derived/common/printed_day.h"
#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "ticket_rows.h"
#include "tickets/ticket_schema.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

namespace {

std::string setting(Database& database, std::string_view name, std::string_view otherwise) {
  Query query = database.query("SELECT value FROM config WHERE name=?1", name);
  return std::string(query.step() && !query.is_null(0) ? query.text(0) : otherwise);
}

struct EventWords {
  std::string ticket;  // "[LINK|SHOWN]"
  std::string title_column;
  std::string status_column;
};

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Returns the long and the short text for CHANGE in the timeline, with the same wording as in
/// fossil.
std::pair<std::string, std::string> words_of(const Structural& change, bool is_first,
                                             const EventWords& words, Ticket& ticket) {
  const std::string title = base::escape_markup(ticket.value_of(words.title_column));
  if (is_first) {
    return {fmt::format("New ticket {} <i>{}</i>.", words.ticket, title),
            fmt::format("New ticket {}.", words.ticket)};
  }
  const std::size_t count = change.ticket_fields.size();
  const artifact::TicketField* status = nullptr;
  for (const artifact::TicketField& card : change.ticket_fields) {
    if (!card.appends && card.name == words.status_column) status = &card;
  }
  if (status == nullptr) {
    const std::string now = base::escape_markup(ticket.value_of(words.status_column));
    return {fmt::format("Ticket {} <i>{}</i> status still {} with {}", words.ticket, title, now,
                        plural(count, "other change")),
            fmt::format("Ticket {}: {}", words.ticket, plural(count, "change"))};
  }
  const std::string now = base::escape_markup(status->value);
  std::string comment = fmt::format("{} ticket {}: <i>{}</i>", now, words.ticket, title);
  if (count > 1) comment += fmt::format(" plus {}", plural(count - 1, "other change"));
  return {std::move(comment), fmt::format("{} ticket {}.", now, words.ticket)};
}

void remake_tickets(Database& database) {
  database.execute("SAVEPOINT tickets");
  try {
    make_ticket_tables(database);
  } catch (const SqliteError& error) {
    // Rethrow an interruption, which ends the whole request, and an error after which SQLite has
    // rolled back the whole transaction. After other errors, keep the old tables.
    if (!database.in_transaction() || error.is_interrupt()) throw;
    base::log(base::LogLevel::kWarning,
              "cannot recreate the ticket tables, keeping the old ones: {}", error.what());
    database.execute("ROLLBACK TO tickets");
  }
  database.execute("RELEASE tickets");
}

}  // namespace

void ticket_setting_changed(Database& database, std::string_view name, Pending& pending) {
  if (name == "ticket-table") {
    remake_tickets(database);
  } else if (name != "ticket-title-expr" && name != "ticket-status-column") {
    return;
  }
  constexpr std::string_view kPrefix = "tkt-";
  Query tags = database.query(
      "SELECT tagname FROM tag INDEXED BY sqlite_autoindex_tag_1 WHERE tagname GLOB 'tkt-*'");
  while (tags.step()) pending.stale_tickets.emplace(tags.text(0).substr(kPrefix.size()));
}

void Tickets::add_ticket_change(Rid rid, const Structural& change, double day) {
  tags_.set_tag(work_.names.tag(fmt::format("tkt-{}", change.ticket)), 1, std::nullopt, rid, day,
                rid);
  work_.pending.stale_tickets.insert(std::string(change.ticket));
  work_.pending.stale_targets.insert(std::string(change.ticket));
}

void Tickets::refresh_tickets() {
  if (work_.pending.stale_tickets.empty()) return;
  const TicketFields fields(work_.database);
  for (const std::string& id : work_.pending.stale_tickets) {
    if (!fields.has_ticket) break;
    work_.database.execute("SAVEPOINT ticket");
    try {
      const std::int64_t tag = work_.names.tag(fmt::format("tkt-{}", id));
      refresh_ticket(id, fields, changes_of(tag));
    } catch (const SqliteError& error) {
      // The project defines these tables, and a value can violate their constraints. In a push,
      // skip the ticket and log the error, so that the push is not rejected. In a rebuild, fail, as
      // fossil does. An interruption, or an error that has rolled back the transaction, cannot be
      // skipped.
      if (error.is_interrupt()) throw;
      if (work_.is_quiet || !work_.database.in_transaction()) {
        throw SqliteError(
            error.code(),
            fmt::format("cannot update ticket {} in the tables of the ticket-table setting: {}", id,
                        error.what()));
      }
      base::log(base::LogLevel::kWarning,
                "cannot update ticket {} in the tables of the ticket-table setting: {}", id,
                error.what());
      work_.database.execute("ROLLBACK TO ticket");
    }
    work_.database.execute("RELEASE ticket");
  }
}

std::vector<Rid> Tickets::changes_of(std::int64_t tag) {
  return work_.database.integers(
      "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1"
      " ORDER BY mtime, (SELECT uuid FROM blob WHERE blob.rid=tagxref.rid)",
      tag);
}

void Tickets::refresh_ticket(const std::string& id, const TicketFields& fields,
                             const std::vector<Rid>& changes) {
  const EventWords words{
      .ticket = fmt::format("[{}|{}]", events_.linked(id), events_.shown(id)),
      .title_column = setting(work_.database, "ticket-title-expr", "title"),
      .status_column = setting(work_.database, "ticket-status-column", "status")};
  const std::int64_t tag = work_.names.tag(fmt::format("tkt-{}", id));
  for (const Rid rid : changes) {
    remove_backlinks(work_.database, BacklinkSource::kTicket, rid);
  }
  Ticket ticket(work_.database, fields, id);
  ticket.forget();
  bool is_first = true;
  for (const Rid rid : changes) {
    const Manifest change = work_.manifests.get(rid);
    if (change && change->type == StructuralType::kTicketChange) {
      ticket.apply(rid, *change, base::julian_day(*change->date));
      auto [comment, brief] = words_of(*change, is_first, words, ticket);
      events_.put_event(rid, *change,
                        {.type = 't',
                         .day = printed_day(work_.database, *change->date),
                         .comment = std::move(comment),
                         .brief = std::move(brief),
                         .tag = tag});
    }
    is_first = false;
  }
  ticket.write_latest_links();
  events_.touch_search('t', ticket.row());
}

}  // namespace quarry::repository
