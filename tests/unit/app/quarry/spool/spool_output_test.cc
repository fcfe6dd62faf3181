#include "spool/spool_output.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "quarry/base/fd.h"
#include "temporary_folder.h"

using quarry::app::SpoolOutput;

namespace {

struct Disk {
  int synced = 0;
  bool is_broken = false;
};
Disk disk;

quarry::base::Fd file_in(const TemporaryFolder& folder) {
  return quarry::base::Fd(::open((folder / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

}  // namespace

// Overrides the C library's function to count its calls and to simulate errors.
extern "C" int fdatasync(int fd) {
  if (disk.is_broken) {
    errno = EIO;
    return -1;
  }
  ++disk.synced;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

TEST_CASE("output to a file counts after it is synced, if syncing is enabled") {
  const TemporaryFolder folder;
  const auto file = file_in(folder);
  disk = {};
  SpoolOutput output(file.get(), true);
  CHECK(output.taken(100).value() == 100);
  CHECK(disk.synced == 1);
  CHECK(output.taken(100).value() == 100);
  CHECK(disk.synced == 1);
  CHECK(output.taken(150).value() == 150);
  CHECK(disk.synced == 2);
}

TEST_CASE("output that could not be synced does not count") {
  const TemporaryFolder folder;
  const auto file = file_in(folder);
  disk = {.is_broken = true};
  SpoolOutput output(file.get(), true);
  const auto taken = output.taken(100);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().message.find("Input/output error") != std::string::npos);
  disk.is_broken = false;
  CHECK(output.taken(100).value() == 100);
}

TEST_CASE("a file is not synced if syncing is disabled") {
  const TemporaryFolder folder;
  const auto file = file_in(folder);
  disk = {};
  CHECK(SpoolOutput(file.get(), false).taken(100).value() == 100);
  CHECK(disk.synced == 0);
}
