// The columns of a repository's ticket tables. Each project can define these tables with the SQL in
// the `ticket-table` setting (see ticket_schema.h):
//
//   ticket      one row per ticket, with its latest values
//   ticketchng  one row per change; may be missing
//   tkt_…       columns with a fixed meaning. All other columns without spaces in their names are
//               fields, which are set by J cards
//   "baseline for FIELD"  an integer column of ticket: rid of the last change that set FIELD
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace quarry::repository {

struct TicketField {
  std::string name = {};
  std::string baseline = {};  // the name of the "baseline for" column; may be empty
  bool is_in_ticket = false;
  bool is_in_change = false;
};

struct TicketFields {
  explicit TicketFields(Database& database);
  /// Returns the index of the field NAME in `fields`, or -1 if it does not exist.
  int find(std::string_view name) const;

  std::vector<TicketField> fields;  // by name
  bool has_ticket = false;
  bool has_creation_time = false;  // ticket.tkt_ctime
  bool has_changes = false;
  bool has_change_rid = false;   // ticketchng.tkt_rid
  bool has_change_user = false;  // ticketchng.tkt_user
  /// An index of ticketchng whose first column is tkt_id. May be empty.
  std::string change_index;
  // Whether `ticket` (or `ticketchng`) has a computed column `mimetype`, and there is no field with
  // that name.
  bool ticket_makes_mimetype = false;
  bool change_makes_mimetype = false;
};

std::string sql_name(std::string_view name);

}  // namespace quarry::repository
