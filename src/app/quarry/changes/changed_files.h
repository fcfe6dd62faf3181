// Finds the files of a change set: the changes in an open check-out, or the files on the command
// line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/change_set.h"

namespace quarry::app {

struct ChangedFile {
  std::string name;  // name in the repository
  std::filesystem::path path;
  bool is_deletion = false;
  std::string prior = {};  // if the file was renamed: its name in the current check-in
  bool is_link = false;    // a symbolic link, stored in the check-out as a file with its target
};

/// An open check-out.
struct Checkout {
  std::filesystem::path root;
  std::filesystem::path repository;
  std::string check_in;  // the current check-in
};

/// Returns the check-out that contains FOLDER, or nullopt if FOLDER is not in a check-out. Errors:
/// kNotFound if the program `fossil` is not installed; kInvalid, with fossil's message, if `fossil`
/// failed; kLimit, kIo.
Result<std::optional<Checkout>> checkout_at(const std::filesystem::path& folder);

/// Returns the changes in CHECKOUT that `fossil commit` would commit. Errors: kInvalid if a file is
/// missing or has a conflict.
Result<std::vector<ChangedFile>> changes_in(const Checkout& checkout);

/// Returns the check-ins that were merged into CHECKOUT and that `fossil commit` would record.
/// Omits check-ins that the history of CHECKOUT already contains or records.
Result<std::vector<changes::MergedCheckIn>> merges_in(const Checkout& checkout);

/// Returns the files NAMES, which are relative to FOLDER. The names in the repository are relative
/// to ROOT. If AS_DELETIONS, the files are to be deleted and do not have to exist. Errors:
/// kNotFound, kInvalid.
Result<std::vector<ChangedFile>> files_named(const std::vector<std::string>& names,
                                             const std::filesystem::path& folder,
                                             const std::filesystem::path& root, bool as_deletions);

/// Return the permission of FILE ('x', 'l' for a symbolic link, or 0), and its content. Errors: kIo,
/// kInvalid if its path is neither a regular file nor a symbolic link.
Result<char> permission_of(const ChangedFile& file);
Result<std::string> content_of(const std::filesystem::path& path);

}  // namespace quarry::app
