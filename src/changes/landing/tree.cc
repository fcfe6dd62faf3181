#include "quarry/changes/tree.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/artifact/structural.h"
#include "quarry/base/fd.h"

namespace quarry::changes {

using base::ErrorCode;

namespace {

// Each level has an open descriptor while files below it are written.
constexpr std::size_t kDeepest = 100;

std::unexpected<base::Error> failed(std::string_view name) {
  const bool is_full = errno == ENOSPC || errno == EDQUOT;
  auto error = base::fail_errno(fmt::format("cannot write {}", name));
  if (is_full) error.error().code = ErrorCode::kNoSpace;
  return error;
}

/// The current folder and its parents. Files come in order of names, so each folder is opened
/// once.
class OpenFolders {
 public:
  explicit OpenFolders(base::Fd top) { open_.push_back({"", std::move(top)}); }

  /// The folder of the file NAME, created if necessary.
  base::Result<int> folder_of(std::string_view name);

 private:
  struct Folder {
    std::string path;  // ends with a slash; empty for the top
    base::Fd fd;
  };
  std::vector<Folder> open_;
};

base::Result<int> OpenFolders::folder_of(std::string_view name) {
  while (!name.starts_with(open_.back().path)) open_.pop_back();
  for (std::size_t begin = open_.back().path.size();;) {
    const std::size_t slash = name.find('/', begin);
    if (slash == std::string_view::npos) return open_.back().fd.get();
    if (open_.size() > kDeepest) {
      return base::fail(ErrorCode::kLimit,
                        fmt::format("{} is in more than {} folders", name, kDeepest));
    }
    const std::string own(name.substr(begin, slash - begin));
    const int above = open_.back().fd.get();
    if (::mkdirat(above, own.c_str(), 0777) != 0 && errno != EEXIST) return failed(name);
    base::Fd fd(::openat(above, own.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return failed(name);
    open_.push_back({std::string(name.substr(0, slash + 1)), std::move(fd)});
    begin = slash + 1;
  }
}

base::Result<void> write_file(int folder, const std::string& own, std::string_view name,
                              std::string_view content, mode_t mode) {
  const base::Fd file(
      ::openat(folder, own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file) return failed(name);
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(name);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

base::Result<void> check_name(std::string_view name) {
  if (artifact::is_simple_path(name) && !artifact::is_checkout_database(name) &&
      name.find('\0') == std::string_view::npos) {
    return {};
  }
  return base::fail(ErrorCode::kInvalid, fmt::format("no file can be called {}", name));
}

}  // namespace

std::optional<std::string> obstacle_of(const FileTree& tree, std::string_view name) {
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos;
       slash = name.find('/', slash + 1)) {
    if (tree.contains(name.substr(0, slash))) return std::string(name.substr(0, slash));
  }
  const std::string folder = std::string(name) + "/";
  const auto inside = tree.lower_bound(folder);
  if (inside != tree.end() && inside->first.starts_with(folder)) return inside->first;
  return std::nullopt;
}

base::Result<void> write_tree(const FileTree& tree, const ContentSource& contents,
                              const std::filesystem::path& folder, const TreeOptions& options) {
  if (tree.size() > options.max_files) {
    return base::fail(ErrorCode::kLimit, fmt::format("the check-in has {} files; at most {} are "
                                                     "written for a gate",
                                                     tree.size(), options.max_files));
  }
  base::Fd top(::open(folder.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top) return failed(folder.string());
  OpenFolders folders(std::move(top));
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : tree) {
    QUARRY_TRY(check_name(name));
    QUARRY_TRY_ASSIGN(const Content content, contents(file.hash));
    bytes += content->size();
    if (bytes > options.max_bytes) {
      return base::fail(ErrorCode::kLimit, fmt::format("the check-in's files have more than the {} "
                                                       "bytes that are written for a gate",
                                                       options.max_bytes));
    }
    QUARRY_TRY_ASSIGN(const int at, folders.folder_of(name));
    const std::string own = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
    if (file.permission == 'l' && options.with_links) {
      if (::symlinkat(content->c_str(), at, own.c_str()) != 0) return failed(name);
    } else {
      QUARRY_TRY(write_file(at, own, name, *content, file.permission == 'x' ? 0777 : 0666));
    }
  }
  return {};
}

}  // namespace quarry::changes
