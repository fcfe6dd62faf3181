// The files of a stored or new check-in.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"

namespace quarry::changes {

/// The content of an artifact. Immutable.
using Content = std::shared_ptr<const std::string>;
/// Looks up contents. Errors: kNotFound (missing or a phantom), kCorrupt, kLimit, kIo.
using ContentSource = std::function<Result<Content>(const artifact::HashName&)>;

/// Called with each file of a tree. An error from this function ends the visit, and the visit
/// returns that error.
using FileVisitor =
    std::function<Result<void>(std::string_view name, char permission, std::string_view content)>;

struct TreeFile {
  artifact::HashName hash;
  char permission = 0;  // 'x' (executable), 'l' (symbolic link, whose content is its target) or 0

  friend bool operator==(const TreeFile&, const TreeFile&) = default;
};

/// The files by name, in byte order.
using FileTree = std::map<std::string, TreeFile, std::less<>>;

}  // namespace quarry::changes
