// Valid names for files of a change set, and valid targets for symbolic links.
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "quarry/artifact/structural.h"
#include "quarry/base/escape.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {
namespace {

constexpr std::size_t kShown = 120;  // bytes of a name shown in a message
// Maximum length of a component of a path. It is the limit of file systems, so a tree with a longer
// name could not be checked out.
constexpr std::size_t kMaxComponent = 255;

template <typename Function>
void for_each_component(std::string_view path, const Function& function) {
  while (true) {
    const std::size_t slash = path.find('/');
    function(path.substr(0, slash));
    if (slash == std::string_view::npos) return;
    path.remove_prefix(slash + 1);
  }
}

bool has_long_component(std::string_view path) {
  bool has = false;
  for_each_component(
      path, [&](std::string_view component) { has = has || component.size() > kMaxComponent; });
  return has;
}

/// Returns whether a component of PATH is the name of one of fossil's own files. Fossil keeps these
/// files in the top folder of a check-out. Every component is checked, because any folder of a
/// check-out can contain another check-out. The first versions of fossil used the name ".fos".
bool has_fossil_files(std::string_view path) {
  bool has = false;
  for_each_component(path, [&](std::string_view component) {
    has = has || artifact::is_checkout_database(component) ||
          (component.size() == 4 && component[0] == '.' && (component[1] | 0x20) == 'f' &&
           (component[2] | 0x20) == 'o' && (component[3] | 0x20) == 's');
  });
  return has;
}

Result<void> check_text(std::string_view what, std::string_view text) {
  if (text.size() > kMaxName) {
    return fail(ErrorCode::kLimit, "{} is longer than {} bytes: {}…", what, kMaxName,
                base::printable(text, kShown));
  }
  if (!base::is_text(text) || text.find('\\') != std::string_view::npos) {
    return fail(ErrorCode::kInvalid,
                "{} is not UTF-8, or contains a control character or a backslash: {}", what,
                base::printable(text, kShown));
  }
  return {};
}

}  // namespace

Result<void> check_file_name(std::string_view name) {
  QUARRY_TRY(check_text("a file's name", name));
  if (!artifact::is_simple_path(name)) {
    return fail(ErrorCode::kInvalid,
                "\"{}\" must be a relative path with no \".\" or \"..\" components",
                base::printable(name, kShown));
  }
  if (has_long_component(name)) {
    return fail(ErrorCode::kLimit, "a component of a file name is longer than {} bytes: {}…",
                kMaxComponent, base::printable(name, kShown));
  }
  if (has_fossil_files(name)) {
    return fail(ErrorCode::kInvalid, "\"{}\" is a name reserved by fossil",
                base::printable(name, kShown));
  }
  return {};
}

Result<void> check_link_target(std::string_view name, std::string_view target) {
  const std::string what =
      fmt::format("the target of the symbolic link \"{}\"", base::printable(name, kShown));
  if (target.empty()) return fail(ErrorCode::kInvalid, what + " is empty");
  QUARRY_TRY(check_text(what, target));
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kInvalid, "{} {}: {}", what, why, base::printable(target, kShown));
  };
  if (target.front() == '/') return refuse("is absolute; it must stay within the tree");
  if (has_fossil_files(target)) return refuse("is a name reserved by fossil");
  auto depth = std::ranges::count(name, '/');  // number of folders above the link
  // The components of the link's own path are folders. But a component of the target can be a link
  // to another folder, and ".." after it can lead out of the tree. Therefore, ".." is allowed only
  // at the start of the target.
  bool is_out = false, has_gone_down = false, goes_up_again = false;
  for_each_component(target, [&](std::string_view component) {
    if (component == "..") {
      is_out = is_out || --depth < 0;
      goes_up_again = goes_up_again || has_gone_down;
    } else if (!component.empty() && component != ".") {
      has_gone_down = true;
    }
  });
  if (is_out) return refuse("points outside the tree");
  if (goes_up_again)
    return refuse(
        "contains \"..\" after a folder name; \"..\" is allowed only at the start, because the "
        "folder might be a link");
  return {};
}

}  // namespace quarry::changes
