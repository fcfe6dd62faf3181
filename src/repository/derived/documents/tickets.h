// Tickets: the fields that result from a ticket's changes (`ticket`, `ticketchng`), and the
// ticket's rows in the timeline.
//
// The derivation calls this class for new ticket changes. The class marks the ticket and its
// attachments. Marked tickets are computed after all new artifacts have been added.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "derived/common/events.h"
#include "derived/common/work.h"
#include "derived/tags/tags.h"

namespace quarry::repository {

struct TicketFields;

/// Call after the setting NAME has changed. Marks all tickets in PENDING if they depend on the
/// setting. For `ticket-table`, also creates the ticket tables again, unless the definition is
/// invalid. Throws SqliteError.
void ticket_setting_changed(Database& database, std::string_view name, Pending& pending);

class Tickets {
 public:
  /// Arguments are not owned.
  Tickets(Work& work, Events& events, Tags& tags) : work_(work), events_(events), tags_(tags) {}

  // All throw SqliteError.

  /// Adds CHANGE, whose row id is RID. DAY is the Julian day of the D card in CHANGE.
  void add_ticket_change(Rid rid, const artifact::Structural& change, double day);
  /// Computes all marked tickets. A ticket can violate a constraint of the project's own tables.
  /// Such a ticket is left unchanged. In a complete recomputation, this function fails instead.
  void refresh_tickets();
  /// Returns the artifacts with TAG, the tag of a ticket, sorted by date and then by hash.
  std::vector<Rid> changes_of(std::int64_t tag);
  /// Computes the ticket ID by applying CHANGES in the given order.
  void refresh_ticket(const std::string& id, const TicketFields& fields,
                      const std::vector<Rid>& changes);

 private:
  Work& work_;
  Events& events_;
  Tags& tags_;
};

}  // namespace quarry::repository
