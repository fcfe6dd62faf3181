// What a repository's own ticket tables hold. They are made by the SQL in the setting
// `ticket-table` (see ticket_schema.h), which every project may change:
//
//   ticket      a row for each ticket, with its latest values
//   ticketchng  a row for each change; may be missing
//   tkt_…       columns with a meaning of their own; all others, without spaces in the name, are
//               fields that J cards set
//   "baseline for FIELD"  an integer column of ticket: the change that set FIELD last
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace quarry::repository {

struct TicketField {
  std::string name;
  std::string baseline;  // its "baseline for" column, or empty
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
  std::string change_index;      // of ticketchng, on tkt_id before anything else; may be empty
  // A column `mimetype` that is computed from others, where no field has that name.
  bool ticket_makes_mimetype = false;
  bool change_makes_mimetype = false;
};

/// NAME as an SQL identifier.
std::string sql_name(std::string_view name);

}  // namespace quarry::repository
