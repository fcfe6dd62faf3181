// Confines programs with Landlock (landlock(7)). A confined program can write only to some paths,
// execute only some programs, and not gain privileges. It can read all files, and use the
// descriptors that it inherits. base::spawn() applies a Confinement.
#pragma once

#include <filesystem>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// Each path is a file, or a folder with everything in it. Paths that do not exist are skipped.
struct Confinement {
  std::vector<std::filesystem::path> writable;
  /// The loader of each program is added automatically, but the interpreter of a script is not.
  std::vector<std::filesystem::path> executable;
};

/// Returns whether this kernel has Landlock.
bool has_landlock();

/// Returns a Landlock ruleset for CONFINEMENT, for confine_thread(). Error: kIo.
Result<Fd> landlock_rules(const Confinement& confinement);

/// Confines the calling thread and all programs that it starts. This cannot be undone. Error: kIo.
Result<void> confine_thread(const Fd& rules);

}  // namespace quarry::base
