// The artifacts that came from another host through the stream (see repository/replica_tables.h).
// Only the host that has received an artifact from a client sends events and separate mail about it,
// and runs hooks for it.
#pragma once

#include "database.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

/// Throws SqliteError.
inline bool is_from_stream(Database& database, Rid rid) {
  return database.has_table("fx_quarry_replica_received") &&
         database.has_row(
             "SELECT 1 FROM fx_quarry_replica_received"
             " WHERE rcvid=(SELECT rcvid FROM blob WHERE rid=?1)",
             rid);
}

}  // namespace quarry::repository
