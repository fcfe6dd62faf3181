// The folder for temporary files: TMPDIR, or /tmp. Error messages name the folder and the
// environment variable that sets it.
#pragma once

#include <filesystem>
#include <string_view>

#include "database.h"

namespace quarry::repository {

/// Thrown if a temporary file cannot be created, written or read.
class TemporaryFileError : public SqliteError {
 public:
  using SqliteError::SqliteError;
};

/// Throws TemporaryFileError if the folder does not exist.
std::filesystem::path temporary_folder();

/// Returns an error which says that WHAT (such as "a temporary file") cannot be written, and WHY.
/// CODE is SQLite's code.
TemporaryFileError cannot_write_temporary(int code, std::string_view what, std::string_view why);
/// Returns an error which says that WHAT cannot be read, and WHY.
TemporaryFileError cannot_read_temporary(std::string_view what, std::string_view why);

}  // namespace quarry::repository
