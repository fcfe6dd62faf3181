// Creates the ticket tables with the SQL in the `ticket-table` setting. Any user with the right to
// push configuration can write this setting.
//
// The same SQL is allowed as in fossil (tested statement by statement with `fossil rebuild`). Names
// are case-insensitive:
//
//   create   tables and views named ticket… and fx_…, not temporary and not virtual;
//            indexes on tables ticket…, and indexes fx_…
//   drop     such views and indexes, but not tables
//   write    rows of tables ticket… and fx_…
//   read     every table, but not with a recursive query
//
// The functions printf and format are not allowed. Expressions in tables and indexes must not call
// instr, replace, trim, ltrim, rtrim or json_patch, because these functions are extremely slow for
// some values. Triggers, PRAGMA, ALTER, ATTACH, ANALYZE and transactions are not allowed. Time and
// memory are limited (ticket_restraint.h).
#pragma once

#include "store/database.h"

namespace quarry::repository {

/// Drops all tables ticket…, and creates them again according to the `ticket-table` setting or
/// Fossil's default. Replaces existing views (`fossil rebuild` fails if such a view exists), but
/// does not replace existing tables fx_…. Use inside a transaction. Throws SqliteError if the SQL
/// is invalid, is not allowed, or exceeds a limit. The error names the setting and the statement.
/// After the error, the whole transaction might have been rolled back.
void make_ticket_tables(Database& database);

}  // namespace quarry::repository
