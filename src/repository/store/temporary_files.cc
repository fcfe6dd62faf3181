#include "temporary_files.h"

#include <fmt/core.h>

#include <cstdlib>
#include <system_error>

namespace quarry::repository {
namespace {

/// Returns the name of the environment variable that sets the folder.
const char* variable() {
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    if (std::getenv(name) != nullptr) return name;
  }
  return "TMPDIR";
}

const char* folder_name() {
  const char* const value = std::getenv(variable());
  return value == nullptr ? "/tmp" : value;
}

}  // namespace

std::filesystem::path temporary_folder() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  throw TemporaryFileError(
      SQLITE_CANTOPEN,
      fmt::format("{} must name a folder for temporary files, but {} is not a folder", variable(),
                  folder_name()));
}

TemporaryFileError cannot_write_temporary(int code, std::string_view what, std::string_view why) {
  return {code, fmt::format("cannot write {} in {}: {} (set {} to use another folder)", what,
                            folder_name(), why, variable())};
}

TemporaryFileError cannot_read_temporary(std::string_view what, std::string_view why) {
  return {SQLITE_IOERR_READ, fmt::format("cannot read {} in {}: {}", what, folder_name(), why)};
}

}  // namespace quarry::repository
