#include "stored_files.h"

#include <algorithm>
#include <utility>

#include "quarry/artifact/structural.h"

namespace quarry::changes {

using artifact::HashName;
using artifact::Structural;

namespace {

// Maximum number of cached check-ins. This number is sufficient for the tips of several branches,
// and for rollbacks.
constexpr std::size_t kCheckIns = 16;

struct Manifest {
  Content text;
  Structural parsed;
};

Result<Content> read(repository::Repository& repository, const HashName& name) {
  const auto found = repository.find(name);
  if (!found || found->is_phantom()) {
    return fail(ErrorCode::kNotFound, "artifact {} is missing", name.str());
  }
  QUARRY_TRY_ASSIGN(std::string content, repository.content(found->rid));
  return std::make_shared<const std::string>(std::move(content));
}

Result<Manifest> read_manifest(repository::Repository& repository, const HashName& name) {
  QUARRY_TRY_ASSIGN(Content text, read(repository, name));
  auto parsed = artifact::parse_structural(*text);
  if (!parsed || parsed->type != artifact::StructuralType::kCheckIn) {
    return fail(ErrorCode::kCorrupt, "{} is not a check-in", name.str());
  }
  return Manifest{std::move(text), std::move(*parsed)};
}

Result<void> put_files(const Structural& manifest, FileTree& files) {
  for (const artifact::FileCard& card : manifest.files) {
    if (card.hash.empty()) {
      if (const auto old = files.find(card.name); old != files.end()) files.erase(old);
      continue;
    }
    const auto hash = HashName::parse(card.hash);
    if (!hash) {
      return fail(ErrorCode::kCorrupt, "the file {} has an invalid hash: {}", card.name, card.hash);
    }
    files.insert_or_assign(std::string(card.name), TreeFile{*hash, card.permission});
  }
  return {};
}

}  // namespace

Result<CheckInPtr> StoredFiles::check_in(const HashName& name) {
  const auto known =
      std::ranges::find(check_ins_, name, [](const auto& each) { return each->name; });
  if (known != check_ins_.end()) {
    check_ins_.splice(check_ins_.begin(), check_ins_, known);
    return check_ins_.front();
  }
  QUARRY_TRY_ASSIGN(Manifest manifest, read_manifest(repository_, name));
  FileTree files;
  if (manifest.parsed.is_delta_manifest()) {
    const auto baseline = HashName::parse(manifest.parsed.baseline);
    if (!baseline) {
      return fail(ErrorCode::kCorrupt, "the baseline of {} has an invalid hash", name.str());
    }
    QUARRY_TRY_ASSIGN(const Manifest base, read_manifest(repository_, *baseline));
    QUARRY_TRY(put_files(base.parsed, files));
  }
  QUARRY_TRY(put_files(manifest.parsed, files));
  std::vector<HashName> parents;
  for (const std::string_view parent : manifest.parsed.parents) {
    if (const auto hash = HashName::parse(parent)) parents.push_back(*hash);
  }
  remember(std::make_shared<const StoredCheckIn>(
      StoredCheckIn{.name = name,
                    .files = std::move(files),
                    .date = manifest.parsed.date.value_or(base::UnixMillis{}),
                    .parents = std::move(parents),
                    .manifest = std::move(manifest.text)}));
  return check_ins_.front();
}

void StoredFiles::remember(CheckInPtr check_in) {
  check_ins_.push_front(std::move(check_in));
  if (check_ins_.size() > kCheckIns) check_ins_.pop_back();
}

Result<Content> StoredFiles::content(const HashName& name) {
  if (const auto found = index_.find(name); found != index_.end()) {
    kept_.splice(kept_.begin(), kept_, found->second);
    return found->second->content;
  }
  QUARRY_TRY_ASSIGN(Content content, read(repository_, name));
  remember(name, content);
  return content;
}

void StoredFiles::remember(const HashName& name, const Content& content) {
  if (content->size() > kept_limit_ / 2 || index_.contains(name)) return;
  kept_.push_front({name, content});
  index_[name] = kept_.begin();
  kept_size_ += content->size();
  while (kept_size_ > kept_limit_) {
    kept_size_ -= kept_.back().content->size();
    index_.erase(kept_.back().name);
    kept_.pop_back();
  }
}

}  // namespace quarry::changes
