// Tickets: what the changes of a ticket make of its fields (`ticket`, `ticketchng`), and what the
// timeline tells of them.
//
// Told when a change comes; marks the ticket, and what is attached to it. A ticket is made when all
// that came is known.
#pragma once

#include <string>
#include <string_view>

#include "derived/common/events.h"
#include "derived/common/work.h"
#include "derived/tags/tags.h"

namespace quarry::repository {

struct TicketFields;

/// The setting NAME has another value: marks in PENDING all tickets where it counts for them. By
/// `ticket-table` their tables are made anew, or stay as they are where it is wrong. Throws
/// SqliteError.
void ticket_setting_changed(Database& database, std::string_view name, Pending& pending);

class Tickets {
 public:
  /// None is owned.
  Tickets(Work& work, Events& events, Tags& tags) : work_(work), events_(events), tags_(tags) {}

  // Both throw SqliteError.

  /// CHANGE, which is RID and of DAY (a Julian day, as its D card has it), has come.
  void add_ticket_change(Rid rid, const artifact::Structural& change, double day);
  /// Makes every ticket that is marked. One that the project's own tables do not take is left as it
  /// is, unless everything is computed anew.
  void refresh_tickets();

 private:
  void refresh_ticket(const std::string& id, const TicketFields& fields);

  Work& work_;
  Events& events_;
  Tags& tags_;
};

}  // namespace quarry::repository
