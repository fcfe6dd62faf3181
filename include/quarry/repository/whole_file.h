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
base::Result<void> init(const std::filesystem::path& path, const InitOptions& options);

/// Creates an empty repository at PATH, which must not exist, for a clone to fill. It has its own
/// server code, but no project code and no check-in yet. USER is its administrator, without a
/// password.
base::Result<void> init_for_clone(const std::filesystem::path& path, std::string_view user,
                                  const base::Clock& clock = base::system_clock());

/// Problems of a file, one line each, to be read by people.
using Findings = std::vector<std::string>;

struct Verified {
  Findings faults;
  /// Number of rows, by table and class, that differ only because the artifacts were processed in
  /// another order, for example by `fossil rebuild`. The names of table and class are to be read by
  /// people.
  std::map<std::pair<std::string, std::string>, std::size_t> order_dependent;
};

/// Checks every hash and every delta, and that the derived tables equal a recomputation. Does not
/// change the file. Starts threads. PROGRESS (may be empty) is called with (done, total) artifacts.
base::Result<Verified> verify(const std::filesystem::path& path,
                              const std::function<void(std::size_t, std::size_t)>& progress = {},
                              const WalkBounds& bounds = {});

struct Rebuilt {
  /// Artifacts that cannot be expanded and so are missing from the tables, one line each.
  Findings unreadable;
  /// Total number of times that artifacts were expanded.
  std::size_t expansions = 0;
};

/// Deletes all derived tables of PATH and computes them again from the artifacts, in one
/// transaction, so an interruption leaves the file unchanged. Removes shunned artifacts, as
/// `fossil rebuild` does. Ignores max_artifact_size and content_cache_size of OPTIONS. Starts
/// threads. PROGRESS (may be empty) is called with (done, total) artifacts. When IS_INTERRUPTED
/// (may be empty) returns true, it rolls back and fails with kIo. Errors: kNotFound, kInvalid,
/// kBusy, kIo.
base::Result<Rebuilt> rebuild(const std::filesystem::path& path, const OpenOptions& options = {},
                              const std::function<void(std::size_t, std::size_t)>& progress = {},
                              const std::function<bool()>& is_interrupted = {});

}  // namespace quarry::repository
