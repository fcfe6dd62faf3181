#include "place.h"

#include <algorithm>

#include "quarry/repository/repository_folder.h"
#include "quarry/repository/repository_name.h"

namespace quarry::pages {

base::Result<std::filesystem::path> file_of(const Place& place, std::string_view path) {
  if (!place.repository.empty()) return place.repository;
  auto candidates = repository::names_in(path);
  std::ranges::sort(candidates, {}, [](const auto& each) { return each.name.str().size(); });
  base::Error why{.code = base::ErrorCode::kNotFound, .message = "no such repository"};
  for (const auto& candidate : candidates) {
    auto found = repository::locate(place.repositories, candidate.name);
    if (found) return std::move(found->path);
    if (why.code == base::ErrorCode::kNotFound) why = std::move(found).error();
  }
  return std::unexpected(std::move(why));
}

}  // namespace quarry::pages
