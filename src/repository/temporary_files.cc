#include "temporary_files.h"

#include <fmt/core.h>

#include <cstdlib>
#include <system_error>

namespace quarry::repository {
namespace {

/// What names the folder, the first that is set.
const char* variable() {
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    if (std::getenv(name) != nullptr) return name;
  }
  return "TMPDIR";
}

}  // namespace

std::filesystem::path temporary_folder() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  const char* const name = variable();
  const char* const value = std::getenv(name);
  throw TemporaryFileError(SQLITE_CANTOPEN,
                           fmt::format("{} must name a folder for temporary files, and {} is none",
                                       name, value == nullptr ? "/tmp" : value));
}

TemporaryFileError cannot_write_temporary(int code, std::string_view what, std::string_view why) {
  return {code, fmt::format("{} cannot be written in {}: {} ({} may name another folder)", what,
                            temporary_folder().string(), why, variable())};
}

TemporaryFileError cannot_read_temporary(std::string_view what, std::string_view why) {
  return {SQLITE_IOERR_READ,
          fmt::format("{} in {} cannot be read: {}", what, temporary_folder().string(), why)};
}

}  // namespace quarry::repository
