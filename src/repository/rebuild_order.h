// The order in which `fossil rebuild` looks at artifacts. Nearly nothing in the derived tables
// depends on it; where something does (which of several close children moves its parent's time,
// which of two equally old tags wins), the same choice is made here.
//
//   artifacts that are stored whole, by row number; after each the deltas on it, after each of
//   those the deltas on that one, and so on. Deltas on the same artifact come in the order in which
//   they lie in a hash table of fossil's (slot = 101 * rid modulo the table's size, next slot where
//   taken).
#pragma once

#include "database.h"
#include "quarry/repository/repository.h"

namespace quarry::repository {

/// Whether A is looked at before B.
bool rebuilt_before(Database& database, Rid a, Rid b);

/// RIDS in the order in which they are looked at.
void sort_as_rebuilt(Database& database, std::vector<Rid>& rids);

/// RIDS, ascending, in the order of that hash table.
std::vector<Rid> hash_order(const std::vector<Rid>& rids);

}  // namespace quarry::repository
