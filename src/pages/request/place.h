// Which repository a path leads to.
#pragma once

#include <filesystem>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/pages/options.h"

namespace quarry::pages {

/// The file of the repository that PATH, below PLACE, is of; as fossil finds it, by the shortest
/// name, but never by a way out of the folder. Errors: those of repository::locate().
base::Result<std::filesystem::path> file_of(const Place& place, std::string_view path);

}  // namespace quarry::pages
