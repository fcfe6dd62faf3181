// Repositories whose schema is not the current one.
//
// A later Fossil may have upgraded a file to an unknown schema: the row `aux-schema` of `config`
// holds its date. As in fossil, only this row is read from such a file, and the file is never
// written.
//
// A file that was created by an older Fossil, and was not rebuilt since, may lack tables
// (cherrypick is from 2018, backlink from 2010), columns (mlink.pmid and mlink.isaux, from 2015) or
// indexes. `fossil server` serves it anyway. Our statements need these tables, so opening the
// repository creates the missing tables, columns and indexes, without data. As with fossil, new
// artifacts fill them, and a rebuild adds the older artifacts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "store/database.h"

namespace quarry::repository {

/// Returns kInvalid if AUX_SCHEMA (nullopt if the row is missing) is later than the one in
/// schema.h. The message names PATH.
base::Result<void> check_aux_schema(const std::filesystem::path& path,
                                    const std::optional<std::string>& aux_schema);
/// The same for DATABASE. Succeeds if it does not have a table `config`.
base::Result<void> check_aux_schema(const std::filesystem::path& path, Database& database);

/// Adds the parts of the current schema that are missing in DATABASE, which must be a repository.
/// Returns a list of them for the log. The list is empty if no part was added, which is normal, or
/// if the file is read-only but complete enough for reading. Throws SqliteError.
std::string complete_schema(Database& database);

}  // namespace quarry::repository
