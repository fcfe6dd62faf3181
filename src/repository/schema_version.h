// Repositories whose schema is not the current one.
//
// A later version of Fossil might have upgraded a file to an unknown schema. The row `aux-schema`
// of `config` has the date of the schema. As in fossil, only this row is read from such a file, and
// the file is never written.
//
// A file that was created by an older version of Fossil, and has not been rebuilt since then, can
// lack tables (cherrypick is from 2018, backlink from 2010), columns (mlink.pmid and mlink.isaux,
// from 2015) or indexes. `fossil server` also serves such a file. Our statements need these
// objects, so opening the repository creates missing tables, columns and indexes, without data. As
// with fossil, new artifacts add rows, and a rebuild adds the rows of older artifacts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "store/database.h"

namespace quarry::repository {

/// Fails with kInvalid if AUX_SCHEMA is later than the schema in schema.h. AUX_SCHEMA is nullopt if
/// the row is missing. The message names PATH.
Result<void> check_aux_schema(const std::filesystem::path& path,
                              const std::optional<std::string>& aux_schema);
/// Like the function above, but reads the row from DATABASE. Succeeds if DATABASE does not have a
/// table `config`.
Result<void> check_aux_schema(const std::filesystem::path& path, Database& database);

/// Adds the parts of the current schema that are missing from DATABASE, which must be a repository.
/// Returns a list of the added parts, for the log. The list is usually empty. If the file is
/// read-only, but has all tables that are needed for reading, returns an empty list. Throws
/// SqliteError.
std::string complete_schema(Database& database);

}  // namespace quarry::repository
