// The data that a list of repositories shows about each repository.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::repository {

struct ProjectSummary {
  std::string name;         // `project-name`; may be empty
  std::string description;  // `project-description`
  /// Time of the newest public check-in.
  std::optional<base::UnixMillis> last_check_in;
  /// Capabilities of a visitor who is not logged in: the capabilities of `nobody`, including
  /// inherited ones.
  std::string rights;
  /// False if `repolist-skin` says that the repository only provides a skin.
  bool is_listed = true;

  /// Returns whether visitors without a login are allowed to see check-ins.
  bool may_be_read() const;
  /// Returns whether visitors without a login are allowed to clone the repository.
  bool may_be_cloned() const;
};

/// Returns the summary of an open repository. Use inside a Snapshot. Errors: kIo, kCorrupt.
Result<ProjectSummary> summary_of(Repository& repository);

/// Opens the repository PATH, reads its summary and closes the repository. Unlike
/// Repository::open(), this function never upgrades the file. Passes on errors from
/// Repository::open().
Result<ProjectSummary> read_summary(const std::filesystem::path& path, const OpenOptions& options);

}  // namespace quarry::repository
