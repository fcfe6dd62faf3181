// A folder for each test, with repositories that are made when they are needed.
#pragma once

#include <filesystem>
#include <string>

#include "temporary_folder.h"

namespace worker_test {

class World {
 public:
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  /// Makes a new repository NAME in the folder, together with missing folders, and returns its
  /// path.
  std::filesystem::path repository(const std::string& name) const;

 private:
  TemporaryFolder folder_;
};

}  // namespace worker_test
