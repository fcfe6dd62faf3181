// The folder for temporary files: TMPDIR, or /tmp. Error messages name the folder and the
// environment variable that sets it.
#pragma once

#include <filesystem>
#include <string_view>

#include "database.h"

namespace quarry::repository {

/// A temporary file cannot be created, written or read.
class TemporaryFileError : public SqliteError {
 public:
  using SqliteError::SqliteError;
};

/// Throws TemporaryFileError if the folder does not exist.
std::filesystem::path temporary_folder();

/// An error for WHAT ("a temporary file") that cannot be written because of WHY, with SQLite's
/// CODE.
TemporaryFileError cannot_write_temporary(int code, std::string_view what, std::string_view why);
/// The same for one that cannot be read.
TemporaryFileError cannot_read_temporary(std::string_view what, std::string_view why);

}  // namespace quarry::repository
