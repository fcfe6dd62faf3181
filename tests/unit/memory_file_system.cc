#include "memory_file_system.h"

#include <algorithm>
#include <utility>

using quarry::base::Error;
using quarry::base::ErrorCode;
using quarry::base::fail;
using quarry::base::File;
using quarry::base::FileUse;
using quarry::base::Result;
using Kind = FileOperation::Kind;

class MemoryFile final : public File {
 public:
  MemoryFile(MemoryFileSystem& system, std::shared_ptr<MemoryFileSystem::Node> node)
      : system_(system), node_(std::move(node)) {}
  ~MemoryFile() override {
    if (has_lock_) node_->is_locked = false;
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) override {
    if (offset >= node_->content.size()) return 0;
    const std::size_t count = std::min(buffer.size(), node_->content.size() - offset);
    std::copy_n(node_->content.begin() + static_cast<std::ptrdiff_t>(offset), count,
                buffer.begin());
    return count;
  }
  Result<void> append(std::string_view bytes) override {
    const std::uint64_t offset = node_->content.size();
    if (auto error = system_.next({.kind = Kind::kWrite,
                                   .file = node_->id,
                                   .offset = offset,
                                   .bytes = std::string(bytes)})) {
      // On a full disk, a failed write can still store a part of its data.
      if (error->code == ErrorCode::kNoSpace) node_->content += bytes.substr(0, bytes.size() / 2);
      return std::unexpected(*error);
    }
    node_->content += bytes;
    return {};
  }
  Result<void> truncate(std::uint64_t size) override {
    if (auto error = system_.next({.kind = Kind::kTruncate, .file = node_->id, .offset = size}))
      return std::unexpected(*error);
    node_->content.resize(size);
    return {};
  }
  Result<std::uint64_t> size() override { return node_->content.size(); }
  Result<void> sync() override {
    if (auto error = system_.next({.kind = Kind::kSync, .file = node_->id}))
      return std::unexpected(*error);
    return {};
  }
  Result<bool> has_name() override {
    const auto found = system_.files_.find(node_->name);
    return found != system_.files_.end() && found->second == node_;
  }
  Result<bool> try_lock() override {
    if (node_->is_locked) return has_lock_;
    return has_lock_ = node_->is_locked = true;
  }
  Result<bool> is_locked() override { return node_->is_locked && !has_lock_; }

 private:
  MemoryFileSystem& system_;
  std::shared_ptr<MemoryFileSystem::Node> node_;
  bool has_lock_ = false;
};

MemoryFileSystem::MemoryFileSystem(const Image& image) {
  for (const auto& [name, content] : image) {
    files_[name] = std::make_shared<Node>(Node{.id = ++ids_, .name = name, .content = content});
  }
}

MemoryFileSystem::MemoryFileSystem(std::filesystem::path root, const Image& image)
    : MemoryFileSystem(image) {
  root_ = std::move(root);
}

std::string MemoryFileSystem::name_of(const std::filesystem::path& path) const {
  return root_.empty() ? path.filename().string() : path.lexically_relative(root_).string();
}

/// Counts and records OPERATION, or returns the error that the test has requested for it.
std::optional<Error> MemoryFileSystem::next(FileOperation operation) {
  ++calls_;
  is_removing_ = operation.kind == Kind::kRemove;
  if (before) {
    if (auto error = before(calls_)) return error;
  }
  operations_.push_back(std::move(operation));
  return std::nullopt;
}

Result<std::unique_ptr<File>> MemoryFileSystem::open(const std::filesystem::path& path,
                                                     FileUse use) {
  const std::string name = name_of(path);
  const auto found = files_.find(name);
  if (found != files_.end()) {
    if (use == FileUse::kMake) return fail(ErrorCode::kBusy, name + ": File exists");
    return std::make_unique<MemoryFile>(*this, found->second);
  }
  if (use == FileUse::kRead || use == FileUse::kAppend) {
    return fail(ErrorCode::kNotFound, name + ": No such file or directory");
  }
  auto node = std::make_shared<Node>(Node{.id = ++ids_, .name = name, .content = {}});
  if (auto error = next({.kind = Kind::kLink, .file = node->id, .name = name}))
    return std::unexpected(*error);
  files_[name] = node;
  return std::make_unique<MemoryFile>(*this, node);
}

Result<void> MemoryFileSystem::rename(const std::filesystem::path& from,
                                      const std::filesystem::path& to) {
  const std::string name = name_of(from), new_name = name_of(to);
  const auto found = files_.find(name);
  if (found == files_.end()) return fail(ErrorCode::kNotFound, from.string() + ": not there");
  if (auto error =
          next({.kind = Kind::kRename, .file = found->second->id, .name = name, .to = new_name}))
    return std::unexpected(*error);
  found->second->name = new_name;
  files_[new_name] = found->second;
  files_.erase(name);
  return {};
}

Result<void> MemoryFileSystem::remove(const std::filesystem::path& path) {
  const std::string name = name_of(path);
  if (!files_.contains(name)) return fail(ErrorCode::kNotFound, name + ": not there");
  if (auto error = next({.kind = Kind::kRemove, .file = files_[name]->id, .name = name}))
    return std::unexpected(*error);
  files_.erase(name);
  return {};
}

Result<std::vector<std::string>> MemoryFileSystem::list(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& [name, node] : files_) {
    const std::filesystem::path path(name);
    if (!root_.empty() && path.parent_path() != name_of(folder)) continue;
    names.push_back(path.filename().string());
  }
  return names;
}

Result<void> MemoryFileSystem::make_folder(const std::filesystem::path& /*folder*/) {
  return {};
}

Result<void> MemoryFileSystem::sync_directory(const std::filesystem::path& folder) {
  if (auto error =
          next({.kind = Kind::kSyncNames, .name = root_.empty() ? std::string() : name_of(folder)}))
    return std::unexpected(*error);
  return {};
}

MemoryFileSystem::Image MemoryFileSystem::image() const {
  Image image;
  for (const auto& [name, node] : files_) image[name] = node->content;
  return image;
}

namespace {

bool is_about_names(Kind kind) {
  return kind == Kind::kLink || kind == Kind::kRename || kind == Kind::kRemove;
}

/// Returns true if SYNC makes ONE durable. SYNC syncs the names in a folder, and ONE changes a
/// name. A rename between folders is durable after a sync of the new name's folder.
bool covers(const FileOperation& sync, const FileOperation& one) {
  const std::string& name = one.kind == Kind::kRename ? one.to : one.name;
  return std::filesystem::path(name).parent_path() == sync.name;
}

/// Returns, for each of the first COUNT operations, whether a later sync made the operation
/// durable.
std::vector<bool> durable(const std::vector<FileOperation>& operations, std::size_t count) {
  std::vector<bool> is_durable(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    const FileOperation& sync = operations[i];
    if (sync.kind != Kind::kSync && sync.kind != Kind::kSyncNames) continue;
    is_durable[i] = true;
    for (std::size_t j = 0; j < i; ++j) {
      const FileOperation& one = operations[j];
      if (is_durable[j]) continue;
      if (sync.kind == Kind::kSyncNames && is_about_names(one.kind)) {
        is_durable[j] = covers(sync, one);
      }
      if (sync.kind == Kind::kSync && !is_about_names(one.kind) && one.file == sync.file) {
        is_durable[j] = true;
      }
    }
  }
  return is_durable;
}

}  // namespace

std::size_t MemoryFileSystem::unsynced(const std::vector<FileOperation>& operations,
                                       std::size_t count) {
  return static_cast<std::size_t>(std::ranges::count(durable(operations, count), false));
}

MemoryFileSystem::Image MemoryFileSystem::after_a_stop(
    const Image& start, const std::vector<FileOperation>& operations, std::size_t count,
    const std::function<bool(std::size_t)>& keeps) {
  std::map<std::uint64_t, std::string> contents;
  std::map<std::string, std::uint64_t> names;
  std::uint64_t ids = 0;
  for (const auto& [name, content] : start) {
    contents[++ids] = content;
    names[name] = ids;
  }
  const std::vector<bool> is_durable = durable(operations, count);
  std::size_t lost = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const FileOperation& one = operations[i];
    if (!is_durable[i] && !keeps(lost++)) continue;
    std::string& content = contents[one.file];
    switch (one.kind) {
      case Kind::kWrite:
        // A lost write leaves a hole before the following write.
        if (content.size() < one.offset) content.resize(one.offset);
        content.replace(one.offset, one.bytes.size(), one.bytes);
        break;
      case Kind::kTruncate:
        content.resize(one.offset);
        break;
      case Kind::kLink:
        names[one.name] = one.file;
        break;
      case Kind::kRename:
        names[one.to] = one.file;
        names.erase(one.name);
        break;
      case Kind::kRemove:
        if (names.contains(one.name) && names[one.name] == one.file) names.erase(one.name);
        break;
      case Kind::kSync:
      case Kind::kSyncNames:
        break;
    }
  }
  Image image;
  for (const auto& [name, id] : names) image[name] = contents[id];
  return image;
}
