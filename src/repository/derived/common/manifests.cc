#include "manifests.h"

namespace quarry::repository {
namespace {

using artifact::StructuralType;

constexpr std::size_t kParsed = 24;
// Limits while artifacts are received, in bytes.
constexpr std::size_t kTextsOfReceipt = std::size_t{8} << 20;
constexpr std::size_t kListsOfReceipt = std::size_t{16} << 20;

}  // namespace

Files Manifests::make_files(const artifact::Structural& artifact) {
  if (artifact.files.empty()) return no_files_;
  const std::size_t limit = holds_all_ ? lists_of_all_ : kListsOfReceipt;
  if (cards_->memory() + lists_size_ > limit) forget_files();
  auto files = std::make_shared<const FileList>(cards_, artifact.files);
  lists_size_ += files->memory();
  return files;
}

void Manifests::forget_files() {
  for (auto& [rid, stored] : stored_) stored.files.reset();
  cards_ = std::make_shared<FileCards>();
  lists_size_ = 0;
}

std::optional<StructuralType> Manifests::add(Rid rid, std::string_view content) {
  const auto parsed = artifact::parse_structural(content);
  if (!parsed) return std::nullopt;
  const std::string text = artifact::text_without_files(content, *parsed);
  const std::scoped_lock lock(mutex_);
  // Release the texts before the limit is exceeded. Above the limit, they would be moved to a
  // temporary file, and a worker might not have a folder for temporary files.
  if (!holds_all_ && texts_.size() + text.size() > kTextsOfReceipt) forget_all();
  stored_[rid] = {parsed->type, texts_.add(text), make_files(*parsed)};
  return parsed->type;
}

const Manifests::StoredManifest* Manifests::find(Rid rid) {
  const auto found = stored_.find(rid);
  if (found != stored_.end()) return &found->second;
  if (holds_all_) return nullptr;
  const auto content = contents_.get(rid);
  if (!content || !add(rid, **content)) return nullptr;
  return &stored_.at(rid);
}

Manifest Manifests::get(Rid rid) {
  for (auto at = parsed_.begin(); at != parsed_.end(); ++at) {
    if (at->rid != rid) continue;
    parsed_.splice(parsed_.begin(), parsed_, at);
    return at->manifest;
  }
  const StoredManifest* const stored = find(rid);
  if (stored == nullptr) return nullptr;
  auto manifest = std::make_shared<const artifact::Structural>(
      artifact::parse_without_files(texts_.get(stored->text), stored->type));
  parsed_.push_front({rid, manifest});
  if (parsed_.size() > kParsed) parsed_.pop_back();
  return manifest;
}

Files Manifests::files(Rid rid) {
  const StoredManifest* const stored = find(rid);
  if (stored == nullptr) return nullptr;
  if (stored->files) return stored->files;
  const auto content = contents_.get(rid);
  const auto parsed = content ? artifact::parse_structural(**content) : std::nullopt;
  if (!parsed) return nullptr;
  Files files = make_files(*parsed);
  stored_.at(rid).files = files;
  return files;
}

void Manifests::forget_all() {
  stored_.clear();
  texts_.clear();
  parsed_.clear();
  forget_files();
  holds_all_ = false;
}

const artifact::FileCard* FileSet::find(std::string_view name) const {
  const artifact::FileCard* file = find_own(name);
  if (file == nullptr && baseline_) file = baseline_->find(name);
  return file != nullptr && file->hash.empty() ? nullptr : file;
}

}  // namespace quarry::repository
