#include "target.h"

#include <algorithm>

#include "quarry/http/form.h"
#include "quarry/repository/repository_folder.h"
#include "quarry/repository/repository_name.h"

namespace quarry::pages {

namespace {

std::string take_segment(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  std::string word(path.substr(0, path.find('/')));
  path.remove_prefix(word.size());
  return word;
}

bool is_draft(std::string_view segment) {
  constexpr std::string_view kDraft = "draft";
  return segment.size() == kDraft.size() + 1 && segment.starts_with(kDraft) &&
         segment.back() >= '1' && segment.back() <= '9';
}

Target target_in(std::filesystem::path file, std::string_view name, std::string_view rest) {
  // Decode the path again, as newer versions of fossil do. The web server has already decoded it
  // once.
  const std::string decoded = http::form_decode_leniently(rest);
  std::string_view left = std::string_view(decoded).substr(0, decoded.find('\0'));
  Target target{.file = std::move(file),
                .name = std::string(name),
                .number = repository::number_of(name),
                .page = take_segment(left),
                .below = {}};
  if (is_draft(target.page)) target.page = take_segment(left);
  target.below = take_segment(left);
  return target;
}

}  // namespace

Result<Target> target_of(const ServedRepositories& served, std::string_view path) {
  if (!served.repository.empty()) return target_in(served.repository, "", path);
  auto candidates = repository::names_in(path);
  std::ranges::sort(candidates, {}, [](const auto& each) { return each.name.str().size(); });
  for (const auto& candidate : candidates) {
    auto found = repository::locate(served.repositories, candidate.name);
    if (found) return target_in(std::move(found->path), candidate.name.str(), candidate.rest);
    // If this name leads out of the folder, do not try longer names: fossil would serve the file
    // outside the folder.
    if (found.error().code != ErrorCode::kNotFound) return std::unexpected(found.error());
  }
  return fail(ErrorCode::kNotFound, "no such repository");
}

}  // namespace quarry::pages
