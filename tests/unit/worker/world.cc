#include "world.h"

#include <doctest/doctest.h>

#include "quarry/repository/repository.h"
#include "quarry/repository/whole_file.h"

namespace worker_test {

std::filesystem::path World::repository(const std::string& name) const {
  const std::filesystem::path file = path(name);
  std::filesystem::create_directories(file.parent_path());
  quarry::repository::InitOptions options;
  options.project_name = name;
  options.user = "ann";
  options.password = "secret";
  const auto made = quarry::repository::init(file, options);
  REQUIRE(made);
  return file;
}

}  // namespace worker_test
