// What a list of repositories says of one, and whether it may.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::repository {

struct ProjectSummary {
  std::string name;         // the setting `project-name`; may be empty
  std::string description;  // `project-description`
  /// Of the newest check-in that everybody may know of.
  std::optional<base::UnixMillis> last_check_in;
  /// What a visitor may do who has not logged in: `nobody`'s letters, with those that he is lent.
  std::string rights;
  /// Not where `repolist-skin` says that it is only there for its skin.
  bool is_listed = true;

  /// Whether everybody may see check-ins, and what else is on a page about them.
  bool may_be_read() const;
  /// Whether everybody may clone it.
  bool may_be_cloned() const;
};

/// That of an open repository. Inside a Snapshot. Errors: kIo, kCorrupt.
base::Result<ProjectSummary> summary_of(Repository& repository);

/// That of the file PATH, which is opened for it and closed again; unlike Repository::open(), it
/// stays as it is, whatever is old in it. Errors: those of Repository::open().
base::Result<ProjectSummary> read_summary(const std::filesystem::path& path,
                                          const OpenOptions& options);

}  // namespace quarry::repository
