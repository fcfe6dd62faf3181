// Which repository a path leads to.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/pages/options.h"

namespace quarry::pages {

struct Target {
  std::filesystem::path file;
  std::string page;  // "timeline", say: the first word of what follows the repository's name
};

/// What PATH, below PLACE, leads to; as fossil finds it, by the shortest name of a repository, but
/// never by a way out of the folder. Errors: those of repository::locate().
base::Result<Target> target_of(const Place& place, std::string_view path);

}  // namespace quarry::pages
