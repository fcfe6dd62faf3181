// What is done with a repository file as a whole: it is made, proved right, or computed anew.
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
  std::string project_name;
  std::string user;
  std::string password;
  const base::Clock* clock = &base::system_clock();
};
/// Makes a new repository at PATH, which must not exist, with the initial empty check-in.
base::Result<void> init(const std::filesystem::path& path, const InitOptions& options);

/// Makes an empty repository at PATH, which must not exist, for a clone to fill: a server code of
/// its own, no project code yet, no check-in. USER is its administrator, without a password so far.
base::Result<void> init_for_clone(const std::filesystem::path& path, std::string_view user,
                                  const base::Clock& clock = base::system_clock());

/// What is wrong with a file, one line each, made for a person.
using Findings = std::vector<std::string>;

struct Verified {
  Findings faults;
  /// Rows that another order of processing the same artifacts gives, `fossil rebuild`'s for example:
  /// their number by table and class (both for people).
  std::map<std::pair<std::string, std::string>, std::size_t> order_dependent;
};

/// Checks every hash, every delta, and that the derived tables equal a recomputation. The file is
/// only read. Starts threads. PROGRESS (may be empty) is told (done, total) artifacts.
base::Result<Verified> verify(const std::filesystem::path& path,
                              const std::function<void(std::size_t, std::size_t)>& progress = {},
                              const WalkBounds& bounds = {});

struct Rebuilt {
  /// What cannot be expanded, and so is not in the tables: one line each, made for a person.
  Findings unreadable;
  /// How often an artifact was made from what is stored.
  std::size_t expansions = 0;
};

/// Throws every derived table of PATH away and computes it from the artifacts, in one transaction:
/// whatever interrupts it, the file is as before. Shunned artifacts go, as with `fossil rebuild`.
/// Of OPTIONS, max_artifact_size and content_cache_size do not count. Starts threads. PROGRESS (may
/// be empty) is told (done, total) artifacts. Once IS_INTERRUPTED (may be empty) says so, it is
/// undone, which is kIo. Errors: kNotFound, kInvalid, kBusy, kIo.
base::Result<Rebuilt> rebuild(const std::filesystem::path& path, const OpenOptions& options = {},
                              const std::function<void(std::size_t, std::size_t)>& progress = {},
                              const std::function<bool()>& is_interrupted = {});

}  // namespace quarry::repository
