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

/// Copies FROM into the empty database TO, and closes TO. FILE is a descriptor of TO's file. The
/// copy is not in WAL mode. Does not sync it, and does not need disk space for other files. Returns
/// the number of bytes. Throws SqliteError.
std::int64_t copy_to_new(Database& from, std::unique_ptr<Database> to, int file,
                         const CopyWatch& watch = {});

}  // namespace quarry::repository
