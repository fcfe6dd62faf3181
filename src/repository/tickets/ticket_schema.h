// Creates the ticket tables with the SQL in the setting `ticket-table`. Any user who may push
// configuration can write that setting.
//
// The SQL may do only what it may do in fossil (tested statement by statement with `fossil
// rebuild`). Names are case-insensitive:
//
//   create   tables and views named ticket… and fx_…, not temporary and not virtual;
//            indexes on tables ticket…, and indexes fx_…
//   drop     such views and indexes, but not tables
//   write    rows of tables ticket… and fx_…
//   read     every table, but not with a recursive query
//
// It may not use the functions printf and format. Expressions in tables and indexes may not call
// instr, replace, trim, ltrim, rtrim or json_patch, which can be made extremely slow. Triggers,
// PRAGMA, ALTER, ATTACH, ANALYZE and transactions are not allowed. Time and memory are limited
// (ticket_restraint.h).
#pragma once

#include "store/database.h"

namespace quarry::repository {

/// Drops all tables ticket… and creates them as defined by the setting `ticket-table`, or Fossil's
/// default. Replaces a view of an earlier run (`fossil rebuild` fails there), but not a table fx_….
/// Use inside a transaction. Throws SqliteError, which names the setting and the statement, if the
/// SQL is invalid, does something that is not allowed, or exceeds a limit; the whole transaction
/// may then be rolled back.
void make_ticket_tables(Database& database);

}  // namespace quarry::repository
