// A folder for each test, with repositories made on demand.
#pragma once

#include <filesystem>
#include <string>

#include "temporary_folder.h"

namespace worker_test {

class World {
 public:
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  /// A new repository NAME in the folder; makes missing folders.
  std::filesystem::path repository(const std::string& name) const;

 private:
  TemporaryFolder folder_;
};

}  // namespace worker_test
