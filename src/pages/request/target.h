// Which repository a path leads to.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/pages/options.h"

namespace quarry::pages {

/// The pages that a fossil has, by their first word. Empty: it does not tell.
using PageNames = std::set<std::string, std::less<>>;

struct Target {
  std::filesystem::path file;
  std::string page;        // "timeline", say: the first word of what follows the repository's name
  std::string below = {};  // and the one after that, if there is one
};

/// What PATH, below PLACE, leads to; as fossil finds it, by the shortest name of a repository, but
/// never by a way out of the folder. Errors: those of repository::locate().
base::Result<Target> target_of(const ServedRepositories& served, std::string_view path);

}  // namespace quarry::pages
