#include "quarry/base/confinement.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "quarry/base/fd.h"
#include "quarry/base/spawn.h"
#include "temporary_folder.h"

using namespace quarry::base;
namespace fs = std::filesystem;

namespace {

/// A shell that can write to the folder `in`, but not to `out`.
class ConfinedShell {
 public:
  ConfinedShell() {
    for (const char* name : {"in", "out"}) fs::create_directory(folder_ / name);
    confinement_ = {.writable = {folder_ / "in"}, .executable = {"/bin/sh"}};
  }
  Confinement& confinement() { return confinement_; }
  fs::path operator/(const char* name) const { return folder_ / name; }

  /// Runs TEXT in the parent folder of `in` and `out`, and returns its exit status.
  int run(const std::string& text) {
    const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const auto pid = spawn({.words = {"/bin/sh", "-c", text},
                            .descriptors = {nothing.get(), nothing.get(), nothing.get()},
                            .folder = folder_.string(),
                            .confinement = &confinement_});
    REQUIRE(pid);
    return WEXITSTATUS(wait_for_end(*pid).value());
  }

 private:
  TemporaryFolder folder_;
  Confinement confinement_;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr int kCannotExecute = 126;

}  // namespace

TEST_SUITE_BEGIN("confinement" * doctest::skip(!has_landlock()));

TEST_CASE("a confined program writes only below its writable paths") {
  ConfinedShell shell;
  std::ofstream(shell / "out/old") << "old";
  CHECK(shell.run("echo new > in/new") == 0);
  CHECK(text_of(shell / "in/new") == "new\n");
  CHECK(shell.run("echo new > out/new") != 0);
  CHECK(shell.run("echo new > out/old") != 0);
  CHECK(shell.run("read line < in/new && [ $line = new ]") == 0);
  CHECK_FALSE(fs::exists(shell / "out/new"));
  CHECK(text_of(shell / "out/old") == "old");
  shell.confinement().writable.push_back(shell / "out/old");
  CHECK(shell.run("echo new > out/old") == 0);
  CHECK(shell.run("echo new > out/new") != 0);
  CHECK_MESSAGE(std::ofstream(shell / "out/own").is_open(), "the caller is not confined");
}

TEST_CASE("a confined program executes only what it may") {
  ConfinedShell shell;
  CHECK(shell.run("/bin/true") == kCannotExecute);
  fs::copy("/bin/true", shell / "in/copy");
  CHECK_MESSAGE(shell.run("in/copy") == kCannotExecute, "writable is not executable");
  shell.confinement().executable.emplace_back("/bin/true");
  CHECK(shell.run("/bin/true") == 0);
  shell.confinement().executable.push_back(shell / "in");
  CHECK_MESSAGE(shell.run("in/copy") == 0, "all in a folder");
}

TEST_CASE("a path that does not exist is skipped") {
  ConfinedShell shell;
  shell.confinement().writable.push_back(shell / "none");
  shell.confinement().executable.push_back(shell / "none");
  CHECK(shell.run("echo new > in/new") == 0);
  CHECK(shell.run("echo new > none") != 0);
}

TEST_CASE("a program that may not be executed at all is an error") {
  const Confinement nothing;
  const auto pid = spawn({.words = {"/bin/true"}, .confinement = &nothing});
  REQUIRE_FALSE(pid);
  CHECK(pid.error().message == "cannot start /bin/true: Permission denied");
}

TEST_SUITE_END();
