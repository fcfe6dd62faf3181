// The rows of one ticket in `ticket` and `ticketchng`, computed from its changes in order.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "markup/text_links.h"
#include "quarry/artifact/structural.h"
#include "quarry/repository/rid.h"
#include "store/database.h"
#include "tickets/ticket_fields.h"
#include "tickets/ticket_restraint.h"

namespace quarry::repository {

/// Computes the rows of a ticket. The limits for the project's own tables apply
/// (ticket_restraint.h).
class Ticket {
 public:
  Ticket(Database& database, const TicketFields& fields, const std::string& id)
      : database_(database), fields_(fields), id_(id), restraint_(database) {}

  /// Removes the rows of the ticket, and keeps its row id for the new row.
  void forget();
  /// Applies the change RID, which is dated DAY.
  void apply(Rid rid, const artifact::Structural& change, double day);
  /// Returns the current value of a column, or "unknown" if the ticket does not have a row.
  std::string value_of(const std::string& column);
  /// Writes the links in the latest values. (The links in ticketchng are written by apply().)
  void write_latest_links();
  std::int64_t row() const { return row_; }

 private:
  struct Latest {
    Rid rid;
    std::string value;
    Markup markup;
    double day;
  };
  void remove_rows();
  void write_rows(Rid rid, const artifact::Structural& change, double day);
  std::optional<std::string> update_ticket(Rid rid, const artifact::Structural& change, double day);
  std::optional<std::string> add_change(Rid rid, const artifact::Structural& change, double day);
  void note_links(Rid rid, const artifact::Structural& change, Markup of_ticket, Markup of_change,
                  double day);

  Database& database_;
  const TicketFields& fields_;
  const std::string& id_;
  TicketRestraint restraint_;
  std::int64_t row_ = 0;
  bool exists_ = false;
  std::map<int, std::vector<Latest>> latest_;  // by field
};

}  // namespace quarry::repository
