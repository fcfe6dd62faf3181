// Repositories that were created by older versions of Fossil and not rebuilt since: they lack
// tables (cherrypick is from 2018, backlink from 2010), columns (mlink.pmid and mlink.isaux, from
// 2015) or indexes.
//
// `fossil server` serves them anyway. Our statements need these tables, so opening the repository
// creates what is missing, empty. As with fossil, new artifacts fill it, and a rebuild adds the
// older ones.
#pragma once

#include "store/database.h"

namespace quarry::repository {

/// Adds what DATABASE, which must be a repository, lacks of the current schema. Returns a list of
/// that for the log. Returns an empty text if nothing was written: normally, and if the file is
/// read-only but complete enough for reading. Throws SqliteError.
std::string complete_schema(Database& database);

}  // namespace quarry::repository
