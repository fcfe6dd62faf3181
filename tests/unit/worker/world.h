// A folder of its own for each test, with repositories in it when asked for.
#pragma once

#include <filesystem>
#include <string>

namespace worker_test {

class World {
 public:
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  /// A new repository at NAME in the folder; folders on the way are made.
  std::filesystem::path repository(const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace worker_test
