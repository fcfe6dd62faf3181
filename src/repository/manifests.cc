#include "manifests.h"

#include <algorithm>

namespace quarry::repository {
namespace {

constexpr std::size_t kKept = 24;

const artifact::FileCard* find_in(const std::vector<artifact::FileCard>& files,
                                  std::string_view name) {
  const auto at = std::lower_bound(
      files.begin(), files.end(), name,
      [](const artifact::FileCard& file, std::string_view wanted) { return file.name < wanted; });
  return at != files.end() && at->name == name ? &*at : nullptr;
}

}  // namespace

Manifest Manifests::get(Rid rid) {
  for (auto at = kept_.begin(); at != kept_.end(); ++at) {
    if (at->rid != rid) continue;
    kept_.splice(kept_.begin(), kept_, at);
    return at->manifest;
  }
  const auto content = contents_.get(rid);
  return content ? parse(rid, **content) : nullptr;
}

Manifest Manifests::parse(Rid rid, std::string_view content) {
  auto parsed = artifact::parse_structural(content);
  if (!parsed) return nullptr;
  auto manifest = std::make_shared<const artifact::Structural>(std::move(*parsed));
  kept_.push_front(Kept{rid, manifest});
  if (kept_.size() > kKept) kept_.pop_back();
  return manifest;
}

const artifact::FileCard* FileSet::find_own(std::string_view name) const {
  return find_in(manifest_->files, name);
}

const artifact::FileCard* FileSet::find(std::string_view name) const {
  const artifact::FileCard* file = find_own(name);
  if (file == nullptr && baseline_) file = find_in(baseline_->files, name);
  return file != nullptr && file->hash.empty() ? nullptr : file;
}

}  // namespace quarry::repository
