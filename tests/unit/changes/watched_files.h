// The real file system, observed and restricted by a test.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "quarry/base/file_system.h"

/// Calls `after_list` after each listing of a folder, and denies access to the files in `denied`.
class WatchedFiles final : public quarry::base::FileSystem {
 public:
  using Path = std::filesystem::path;
  std::function<void(const Path&)> after_list = [](const Path&) {};
  std::set<Path> denied;

  quarry::base::Result<std::unique_ptr<quarry::base::File>> open(
      const Path& path, quarry::base::FileUse use) override {
    if (!denied.contains(path)) return real().open(path, use);
    return quarry::base::fail(quarry::base::ErrorCode::kDenied, path.string() + ": denied");
  }
  quarry::base::Result<void> rename(const Path& from, const Path& to) override {
    return real().rename(from, to);
  }
  quarry::base::Result<void> remove(const Path& path) override { return real().remove(path); }
  quarry::base::Result<std::vector<std::string>> list(const Path& folder) override {
    auto names = real().list(folder);
    after_list(folder);
    return names;
  }
  quarry::base::Result<void> make_folder(const Path& folder) override {
    return real().make_folder(folder);
  }
  quarry::base::Result<void> sync_directory(const Path& folder) override {
    return real().sync_directory(folder);
  }
};
