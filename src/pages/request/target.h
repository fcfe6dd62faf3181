// Maps a path to a repository and a page in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/pages/options.h"

namespace quarry::pages {

/// The first words of the pages of a fossil program. The set is empty if the pages are unknown.
using PageNames = std::set<std::string, std::less<>>;

struct Target {
  std::filesystem::path file;
  std::string name = {};     // of the repository; "" if it is the only one
  std::uint32_t number = 0;  // repository::number_of()
  /// The first word after the repository's name, such as "timeline". If the first word selects a
  /// draft of a skin, as in /draft1/timeline, `page` is the second word.
  std::string page = {};
  std::string below = {};  // next word, if any
};

/// Returns the target of PATH. Like fossil, selects the shortest repository name that exists, but
/// never follows a link out of the folder. Errors: the same as for repository::locate().
Result<Target> target_of(const ServedRepositories& served, std::string_view path);

}  // namespace quarry::pages
