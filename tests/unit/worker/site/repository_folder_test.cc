#include "quarry/repository/repository_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "quarry/base/fd.h"
#include "world.h"

using namespace quarry::repository;
using quarry::base::ErrorCode;
using worker_test::World;

namespace {

void write_file(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << "content";
}

RepositoryName name(const char* text) {
  return *RepositoryName::parse(text);
}

/// Returns true if another process can take a write lock on PATH.
bool is_unlocked(const std::filesystem::path& path) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int fd = ::open(path.c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    ::_exit(::fcntl(fd, F_SETLK, &lock) == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status == 0;
}

}  // namespace

TEST_CASE("a repository is found in its folder and in nested folders") {
  const World world;
  write_file(world.path("one.fossil"));
  write_file(world.path("a/b/two.fossil"));
  const auto one = locate(world.folder(), name("one"));
  REQUIRE(one);
  CHECK(one->path == world.path("one.fossil"));
  CHECK(one->is_same_now());
  CHECK(locate(world.folder(), name("a/b/two")));
  CHECK(locate(world.folder(), name("three")).error().code == ErrorCode::kNotFound);
  CHECK(locate(world.folder(), name("a/b")).error().code == ErrorCode::kNotFound);
  CHECK(locate(world.folder(), name("one/x")).error().code == ErrorCode::kNotFound);
}

TEST_CASE("symbolic links may lead anywhere inside the folder, but not outside") {
  const World world;
  const World outside;
  write_file(outside.path("secret.fossil"));
  write_file(world.path("a/real.fossil"));
  std::filesystem::create_symlink("a/real.fossil", world.path("inside.fossil"));
  std::filesystem::create_symlink(outside.path("secret.fossil"), world.path("file.fossil"));
  std::filesystem::create_directory_symlink(outside.folder(), world.path("link"));
  std::filesystem::create_symlink("../" + outside.folder().filename().string() + "/secret.fossil",
                                  world.path("relative.fossil"));
  std::filesystem::create_symlink("loop.fossil", world.path("loop.fossil"));
  CHECK(locate(world.folder(), name("inside")));
  CHECK(locate(world.folder(), name("file")).error().code == ErrorCode::kDenied);
  CHECK(locate(world.folder(), name("link/secret")).error().code == ErrorCode::kDenied);
  CHECK(locate(world.folder(), name("relative")).error().code == ErrorCode::kDenied);
  CHECK(locate(world.folder(), name("loop")).error().code == ErrorCode::kNotFound);
}

TEST_CASE("only regular files are repositories") {
  const World world;
  std::filesystem::create_directory(world.path("folder.fossil"));
  REQUIRE(::mkfifo(world.path("pipe.fossil").c_str(), 0600) == 0);
  CHECK(locate(world.folder(), name("folder")).error().code == ErrorCode::kNotFound);
  CHECK(locate(world.folder(), name("pipe")).error().code == ErrorCode::kNotFound);
}

TEST_CASE("a file that was replaced or removed is not the one that was found") {
  const World world;
  write_file(world.path("one.fossil"));
  const auto found = locate(world.folder(), name("one"));
  REQUIRE(found);
  write_file(world.path("new"));
  std::filesystem::rename(world.path("new"), world.path("one.fossil"));
  CHECK_FALSE(found->is_same_now());
  std::filesystem::remove(world.path("one.fossil"));
  CHECK_FALSE(found->is_same_now());
}

TEST_CASE("locating a file does not drop the locks that this process holds on it") {
  const World world;
  write_file(world.path("one.fossil"));
  const quarry::base::Fd fd(::open(world.path("one.fossil").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  REQUIRE(::fcntl(fd.get(), F_SETLK, &lock) == 0);
  CHECK(locate(world.folder(), name("one")));
  CHECK_FALSE(is_unlocked(world.path("one.fossil")));
}
