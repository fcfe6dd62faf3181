// The folder for temporary files: that of TMPDIR, or /tmp. Whoever cannot go on for want of room
// there is told which folder it is, and what names it.
#pragma once

#include <filesystem>
#include <string_view>

#include "database.h"

namespace quarry::repository {

/// A temporary file cannot be made, written or read.
class TemporaryFileError : public SqliteError {
 public:
  using SqliteError::SqliteError;
};

/// Throws TemporaryFileError, where there is no such folder.
std::filesystem::path temporary_folder();

/// WHAT ("a temporary file") cannot be written, because of WHY; CODE is SQLite's for that.
TemporaryFileError cannot_write_temporary(int code, std::string_view what, std::string_view why);
/// The same of one that cannot be read.
TemporaryFileError cannot_read_temporary(std::string_view what, std::string_view why);

}  // namespace quarry::repository
