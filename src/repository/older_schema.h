// Repositories that older versions of Fossil made, and that no `fossil rebuild` has brought up to
// date since: they lack tables (cherrypick is from 2018, backlink from 2010), columns (mlink.pmid
// and mlink.isaux, from 2015) or indexes.
//
// `fossil server` serves them all the same. Here the statements name what they use, so what is
// missing is made, empty, when the repository is opened: as with fossil, what comes from then on is
// noted, and a rebuild adds what came before.
#pragma once

#include "store/database.h"

namespace quarry::repository {

/// Makes in DATABASE, which has the tables of a repository, what it lacks of today's schema. Tells
/// what that was, for the log; nothing where nothing is written: in the usual case, and where the
/// file cannot be written but has what reading it takes. Throws SqliteError.
std::string complete_schema(Database& database);

}  // namespace quarry::repository
