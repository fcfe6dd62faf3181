#include "quarry/repository/repository_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "temporary_folder.h"

using namespace quarry::repository;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> texts(const FoundNames& found) {
  std::vector<std::string> all;
  for (const RepositoryName& each : found.names) all.push_back(each.str());
  return all;
}

}  // namespace

TEST_CASE("repositories are found in subfolders, but not in the folders of queues") {
  const TemporaryFolder folder;
  for (const char* name : {"team/deep", "one.fossil.changes/done", ".hidden"}) {
    fs::create_directories(folder / name);
  }
  for (const char* name : {"one.fossil", "team/deep/two.fossil", "one.fossil.changes/done/x.fossil",
                           ".hidden/three.fossil", "notes.txt"}) {
    std::ofstream(folder / name) << "x";
  }
  fs::create_directory_symlink("team", folder / "alias");
  fs::create_directory_symlink(".", folder / "team/loop");
  const FoundNames found = names_below(folder.path());
  CHECK(texts(found) == std::vector<std::string>{"one", "team/deep/two"});
  CHECK(found.errors.empty());
  CHECK(texts(names_below(folder.path(), 1)).size() == 1);
  const auto linked = texts(names_below(folder.path(), 100, FolderLinks::kFollow));
  CHECK(std::ranges::count(linked, "alias/deep/two") == 1);
  CHECK(std::ranges::count(linked, "team/loop/deep/two") == 1);
  CHECK(linked.size() < 50);
}

TEST_CASE("a folder that cannot be read is reported, and the others are searched") {
  const TemporaryFolder folder;
  // The path of the subfolder with the long name is longer than the system allows.
  constexpr std::size_t kPath = 4'000;
  fs::path deep = folder.path();
  while (deep.native().size() + 200 < kPath) deep /= std::string(199, 'd');
  deep /= std::string(kPath - deep.native().size() - 1, 'd');
  fs::create_directories(deep / "team");
  std::ofstream(deep / "team/one.fossil") << "x";
  const fs::path before = fs::current_path();
  fs::current_path(deep);
  const std::string long_name(150, 'x');
  fs::create_directory(long_name);
  const FoundNames found = names_below(deep);
  fs::remove(long_name);
  fs::current_path(before);
  CHECK(texts(found) == std::vector<std::string>{"team/one"});
  REQUIRE(found.errors.size() == 1);
  CHECK(found.errors[0].code == quarry::base::ErrorCode::kIo);
  CHECK(found.errors[0].message.starts_with("cannot read the folder /"));
}
