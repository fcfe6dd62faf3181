// Operations on a whole repository file: create, verify, rebuild.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::repository {

struct InitOptions {
  std::string project_name = {};
  std::string user = {};
  std::string password = {};
  const base::Clock* clock = &base::system_clock();
};
/// Creates a repository with an empty initial check-in at PATH, which must not exist.
Result<void> init(const std::filesystem::path& path, const InitOptions& options);

/// Creates an empty repository at PATH, which must not exist, for a clone to fill. The repository
/// has its own server code, but does not have a project code or a check-in yet. USER is its
/// administrator and does not have a password.
Result<void> init_for_clone(const std::filesystem::path& path, std::string_view user,
                            const base::Clock& clock = base::system_clock());

/// Problems of a file, one line each, as readable text.
using Findings = std::vector<std::string>;

struct Verified {
  Findings faults;
  /// Number of rows, by table and class, that differ only because the artifacts were processed in
  /// another order, for example by `fossil rebuild`. The names of tables and classes are for
  /// display.
  std::map<std::pair<std::string, std::string>, std::size_t> order_dependent;
};

/// Checks every hash and every delta. Computes the derived tables again, and checks that the stored
/// tables are equal to the result. Does not change the file. Starts threads. PROGRESS is called
/// with (done, total) artifacts. If IS_INTERRUPTED returns true, fails with kIo. Both functions are
/// optional.
Result<Verified> verify(const std::filesystem::path& path,
                        const std::function<void(std::size_t, std::size_t)>& progress = {},
                        const WalkBounds& bounds = {},
                        const std::function<bool()>& is_interrupted = {});

struct Rebuilt {
  /// Artifacts that are missing from the tables because they cannot be expanded, one line each.
  Findings unreadable;
  /// Total number of times that artifacts were expanded.
  std::size_t expansions = 0;
};

/// Deletes all derived tables of PATH and computes them again from the artifacts, in one
/// transaction. An interruption leaves the file unchanged. Like `fossil rebuild`, removes shunned
/// artifacts. Ignores max_artifact_size and content_cache_size of OPTIONS. Starts threads. PROGRESS
/// is called with (done, total) artifacts. If IS_INTERRUPTED returns true, rolls back and fails
/// with kIo. Both functions are optional. Errors: kNotFound, kInvalid, kBusy, kIo.
Result<Rebuilt> rebuild(const std::filesystem::path& path, const OpenOptions& options = {},
                        const std::function<void(std::size_t, std::size_t)>& progress = {},
                        const std::function<bool()>& is_interrupted = {});

}  // namespace quarry::repository
