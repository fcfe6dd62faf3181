// Copies all pages of a database into another one.
#pragma once

#include <filesystem>
#include <memory>

#include "database.h"
#include "quarry/repository/backup.h"

namespace quarry::repository {

/// Opens the file for reading. If a crashed writer has left an incomplete transaction, opens the
/// file for writing, so that SQLite can roll back the transaction.
std::unique_ptr<Database> open_to_copy(const std::filesystem::path& path);

/// Copies FROM into TO, in one transaction of FROM and one of TO. Returns the number of bytes.
/// Throws SqliteError.
std::int64_t copy_database(Database& from, Database& to, const CopyWatch& watch = {});

/// Copies FROM into the empty file PATH. The copy is not in WAL mode. Does not sync PATH, and does
/// not need disk space for other files. Returns the number of bytes. Throws SqliteError.
std::int64_t copy_to_file(Database& from, const std::filesystem::path& path,
                          const CopyWatch& watch = {});

}  // namespace quarry::repository
