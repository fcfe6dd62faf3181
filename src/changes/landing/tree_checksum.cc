#include "tree_checksum.h"

#include <fmt/core.h>

#include <iterator>

namespace quarry::changes {
namespace {

// Number of bytes between two checkpoints.
constexpr std::size_t kStride = std::size_t{128} << 10;

}  // namespace

/// Returns the number of files at the beginning of TREE that are the same as in the previous tree.
std::size_t TreeChecksum::in_common(const FileTree& tree) const {
  std::size_t count = 0;
  for (const auto& [name, file] : tree) {
    if (count == files_.size() || files_[count].name != name || files_[count].hash != file.hash) {
      break;
    }
    ++count;
  }
  return count;
}

Result<std::string> TreeChecksum::of(const FileTree& tree, const ContentSource& contents) {
  const std::size_t common = in_common(tree);
  while (!checkpoints_.empty() && checkpoints_.back().file > common) checkpoints_.pop_back();
  std::size_t at = checkpoints_.empty() ? 0 : checkpoints_.back().file;
  artifact::RunningDigest digest =
      checkpoints_.empty() ? artifact::RunningDigest::md5() : checkpoints_.back().digest.fork();
  files_.erase(std::next(files_.begin(), static_cast<std::ptrdiff_t>(at)), files_.end());
  std::size_t since = 0;
  for (auto file = std::next(tree.begin(), static_cast<std::ptrdiff_t>(at)); file != tree.end();
       ++file, ++at) {
    if (since >= kStride) {
      checkpoints_.push_back({at, digest.fork()});
      since = 0;
    }
    QUARRY_TRY_ASSIGN(const Content content, contents(file->second.hash));
    digest.add(fmt::format("{} {}\n", file->first, content->size()));
    digest.add(*content);
    files_.push_back({file->first, file->second.hash});
    since += content->size();
  }
  return digest.hex();
}

}  // namespace quarry::changes
