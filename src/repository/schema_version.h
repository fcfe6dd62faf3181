// Repositories whose schema is not the current one.
//
// A later Fossil may have upgraded a file to an unknown schema: the row `aux-schema` of `config`
// holds its date. As in fossil, nothing else is read from such a file, and nothing is written.
//
// A file that an older Fossil has created, and that was not rebuilt since, may lack tables
// (cherrypick is from 2018, backlink from 2010), columns (mlink.pmid and mlink.isaux, from 2015) or
// indexes. `fossil server` serves it anyway. Our statements need these tables, so opening the
// repository creates what is missing, empty. As with fossil, new artifacts fill it, and a rebuild
// adds the older ones.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "store/database.h"

namespace quarry::repository {

/// Error: kInvalid if AUX_SCHEMA (empty if the row is missing) is later than the one in schema.h.
/// The message names PATH.
base::Result<void> check_aux_schema(const std::filesystem::path& path,
                                    const std::optional<std::string>& aux_schema);
/// The same for DATABASE. Succeeds if it has no table `config`.
base::Result<void> check_aux_schema(const std::filesystem::path& path, Database& database);

/// Adds what DATABASE, which must be a repository, lacks of the current schema. Returns a list of
/// that for the log. Returns an empty text if nothing was written: normally, and if the file is
/// read-only but complete enough for reading. Throws SqliteError.
std::string complete_schema(Database& database);

}  // namespace quarry::repository
