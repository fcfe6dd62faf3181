#include "written_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "quarry/base/log_options.h"

namespace quarry::master {
namespace {

namespace fs = std::filesystem;

/// Whether PATH is a regular file, or would be created as one.
bool is_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return !base::is_own_descriptor(path) && (!fs::exists(status) || fs::is_regular_file(status));
}

bool is_same(const std::string& one, const std::string& other) {
  std::error_code error;
  return fs::path(one).lexically_normal() == fs::path(other).lexically_normal() ||
         fs::equivalent(one, other, error);
}

}  // namespace

std::optional<std::string> WrittenFiles::add(const std::string& section,
                                             const std::string& directive,
                                             const std::string& path) {
  if (path.empty() || !is_file(path)) return std::nullopt;
  const auto other = std::ranges::find_if(files_, [&](const Named& each) {
    return each.directive != directive && is_same(each.path, path);
  });
  if (other == files_.end()) {
    files_.push_back({section, directive, path});
    return std::nullopt;
  }
  return fmt::format("{}: {} is the {} of [{}], too", directive, path, other->directive,
                     other->section);
}

}  // namespace quarry::master
