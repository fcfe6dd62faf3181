// A temporary folder with repositories that are made on request.
#pragma once

#include <filesystem>
#include <string>

#include "temporary_folder.h"

namespace worker_test {

class World {
 public:
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  /// Makes a repository NAME in the folder and returns its path. Creates missing subfolders.
  std::filesystem::path repository(const std::string& name) const;

 private:
  TemporaryFolder folder_;
};

}  // namespace worker_test
