// The files of a check-in, one that is stored or one that is about to be made, and how they are
// written into a folder: for a gate, which decides over what it finds there.
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

/// The content of an artifact, which nobody changes.
using Content = std::shared_ptr<const std::string>;
/// Where contents are looked up. Errors: kNotFound (it is not there, or known by name only),
/// kCorrupt, kLimit, kIo.
using ContentSource = std::function<base::Result<Content>(const artifact::HashName&)>;

/// Is shown a file of a tree. An error ends the visit, and is its error.
using FileVisitor = std::function<base::Result<void>(std::string_view name, char permission,
                                                     std::string_view content)>;

struct TreeFile {
  artifact::HashName hash;
  char permission =
      0;  // 'x' (executable), 'l' (symbolic link, whose content is where it leads) or 0

  friend bool operator==(const TreeFile&, const TreeFile&) = default;
};

/// By name, in the order of bytes.
using FileTree = std::map<std::string, TreeFile, std::less<>>;

/// A file of TREE that stands where NAME, which is a file too, needs a folder, or that needs a
/// folder where NAME is. Nothing: both can be there.
std::optional<std::string> obstacle_of(const FileTree& tree, std::string_view name);

struct TreeOptions {
  /// Symbolic links are made as such. As fossil does it only where the setting `allow-symlinks` is
  /// on: otherwise they are files in which it stands where they lead.
  bool with_links = false;
  std::uint64_t most_bytes = std::uint64_t{4} << 30;
  std::size_t most_files = 500'000;
};

/// Writes TREE into FOLDER, which is there and empty. Nothing is written through a symbolic link, or
/// over what is there. Errors: kInvalid (a file's name cannot be one here), kLimit, kNoSpace, kIo,
/// those of CONTENTS; something may have been written then.
base::Result<void> write_tree(const FileTree& tree, const ContentSource& contents,
                              const std::filesystem::path& folder, const TreeOptions& options = {});

}  // namespace quarry::changes
