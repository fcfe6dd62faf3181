// Making the ticket tables, by the SQL in the setting `ticket-table`, which anybody who may push
// configuration can write.
//
// It may do what fossil lets it do, and nothing else (tried statement by statement with
// `fossil rebuild`; names in any case of letters):
//
//   make     tables and views named ticket… and fx_…, not temporary and not virtual;
//            indexes on tables ticket…, and indexes fx_…
//   drop     such views and indexes; no table
//   write    rows of tables ticket… and fx_…
//   read     every table, but not with a recursive query
//
// But no function printf or format; and what a table or an index computes may not call instr,
// replace, trim, ltrim, rtrim or json_patch: these are for ever at it where they are made to be.
// No trigger, no PRAGMA, no ALTER, no ATTACH, no ANALYZE, no transaction of its own. It may take
// the time and memory of ticket_restraint.h.
#pragma once

#include "store/database.h"

namespace quarry::repository {

/// Drops all tables ticket… and makes them as the setting `ticket-table` says, Fossil's own where
/// there is none. A view that an earlier run made is made again (`fossil rebuild` fails there); a
/// table fx_… is not. In a transaction; throws SqliteError, which names the setting and the
/// statement, where the SQL is wrong, does anything else, or takes too much: then the whole
/// transaction may be gone.
void make_ticket_tables(Database& database);

}  // namespace quarry::repository
