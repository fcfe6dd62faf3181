// Maps a path to a repository and a page in it.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/pages/options.h"

namespace quarry::pages {

/// The first words of the pages that a fossil program has. Empty if they could not be determined.
using PageNames = std::set<std::string, std::less<>>;

struct Target {
  std::filesystem::path file;
  std::string page;        // the first word after the repository's name, such as "timeline"
  std::string below = {};  // the word after that, if any
};

/// Returns the target of PATH. Like fossil, this takes the shortest repository name that exists,
/// but it never follows a link out of the folder. Errors: those of repository::locate().
base::Result<Target> target_of(const ServedRepositories& served, std::string_view path);

}  // namespace quarry::pages
