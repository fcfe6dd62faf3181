#include "config/written_files.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "temporary_folder.h"

using quarry::master::WrittenFiles;

TEST_CASE("the pid file and a log, or logs of two kinds, must be different files") {
  WrittenFiles files;
  CHECK_FALSE(files.add("global", "pid", "/nowhere/quarry.pid"));
  CHECK_FALSE(files.add("global", "error_log", "/nowhere/log"));
  CHECK(files.add("www", "access.log", "/nowhere/log") ==
        "access.log: /nowhere/log is the error_log of [global], too");
  CHECK(files.add("www", "slowlog", "/nowhere/./quarry.pid").has_value());
}

TEST_CASE("different paths to one file are recognized") {
  const TemporaryFolder folder;
  std::ofstream(folder / "log") << "";
  std::filesystem::create_symlink(folder / "log", folder / "link");
  WrittenFiles files;
  CHECK_FALSE(files.add("global", "error_log", folder / "log"));
  CHECK(files.add("www", "access.log", folder / "link").has_value());
}

TEST_CASE("pools may share a log of one kind, and paths that are not files may take all lines") {
  WrittenFiles files;
  CHECK_FALSE(files.add("a", "access.log", "/nowhere/log"));
  CHECK_FALSE(files.add("b", "access.log", "/nowhere/log"));
  for (const char* path : {"", "/dev/null", "/dev/stderr", "/proc/self/fd/2"}) {
    CAPTURE(path);
    CHECK_FALSE(files.add("a", "access.log", path));
    CHECK_FALSE(files.add("a", "slowlog", path));
  }
}
