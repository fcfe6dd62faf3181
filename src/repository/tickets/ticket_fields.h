// The columns of a repository's own ticket tables, which are defined by the SQL in the setting
// `ticket-table` (see ticket_schema.h). Every project can change them:
//
//   ticket      one row per ticket, with its latest values
//   ticketchng  one row per change; may be missing
//   tkt_…       columns with a fixed meaning. All other columns without spaces in their names are
//               fields, which J cards set
//   "baseline for FIELD"  an integer column of ticket: rid of the change that last set FIELD
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace quarry::repository {

struct TicketField {
  std::string name = {};
  std::string baseline = {};  // the name of its "baseline for" column; empty if it has none
  bool is_in_ticket = false;
  bool is_in_change = false;
};

struct TicketFields {
  explicit TicketFields(Database& database);
  /// The index of the field NAME in `fields`, or -1.
  int find(std::string_view name) const;

  std::vector<TicketField> fields;  // by name
  bool has_ticket = false;
  bool has_creation_time = false;  // ticket.tkt_ctime
  bool has_changes = false;
  bool has_change_rid = false;   // ticketchng.tkt_rid
  bool has_change_user = false;  // ticketchng.tkt_user
  std::string change_index;      // an index of ticketchng whose first column is tkt_id; empty if
                                 // there is none
  // Whether the table has a computed column `mimetype`, and there is no field with that name.
  bool ticket_makes_mimetype = false;
  bool change_makes_mimetype = false;
};

/// NAME as an SQL identifier.
std::string sql_name(std::string_view name);

}  // namespace quarry::repository
