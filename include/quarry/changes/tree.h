// The files of a check-in, stored or being made, and how to write them to a folder for a gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"

namespace quarry::changes {

/// The content of an artifact; immutable.
using Content = std::shared_ptr<const std::string>;
/// Looks up contents. Errors: kNotFound (missing or a phantom), kCorrupt, kLimit, kIo.
using ContentSource = std::function<base::Result<Content>(const artifact::HashName&)>;

/// Called with a file of a tree. An error ends the visit and is returned.
using FileVisitor = std::function<base::Result<void>(std::string_view name, char permission,
                                                     std::string_view content)>;

struct TreeFile {
  artifact::HashName hash;
  char permission = 0;  // 'x' (executable), 'l' (symbolic link, whose content is its target) or 0

  friend bool operator==(const TreeFile&, const TreeFile&) = default;
};

/// By name, in byte order.
using FileTree = std::map<std::string, TreeFile, std::less<>>;

/// The file in TREE that conflicts with the file NAME, since one of them would have to be a
/// folder; nothing if both can exist.
std::optional<std::string> obstacle_of(const FileTree& tree, std::string_view name);

struct TreeOptions {
  /// Whether symbolic links are real. As in fossil, they are only if the setting `allow-symlinks`
  /// is on; otherwise each is a file that contains its target.
  bool with_links = false;
  std::uint64_t max_bytes = std::uint64_t{4} << 30;
  std::size_t max_files = 500'000;
};

/// Writes TREE into FOLDER, which must exist and be empty. Never writes through a symbolic link or
/// over an existing file. Errors: kInvalid (a name that is not possible here), kLimit, kNoSpace,
/// kIo, those of CONTENTS. After an error some files may have been written.
base::Result<void> write_tree(const FileTree& tree, const ContentSource& contents,
                              const std::filesystem::path& folder, const TreeOptions& options = {});

}  // namespace quarry::changes
