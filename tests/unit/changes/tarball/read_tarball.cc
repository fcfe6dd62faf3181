// A program for the end-to-end tests of tarballs. `read-tarball FILE` prints the branch of a
// tarball, and the name, permission and content of each file. If the tarball is invalid, it prints
// the error.
#include <fcntl.h>
#include <fmt/core.h>

#include "quarry/base/fd.h"
#include "quarry/changes/tarball.h"

using namespace quarry::changes;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const quarry::base::Fd file(::open(argv[1], O_RDONLY | O_CLOEXEC));
  const auto content = TarballReaders().read(file.get(), {}, "/tmp");
  if (!content) {
    fmt::print("error: {}\n", content.error().message);
    return 1;
  }
  fmt::print("branch: {}\n", content->meta().target);
  for (const std::string& name : content->deletions()) fmt::print("- {}\n", name);
  for (const SubmittedFile& each : content->files()) {
    const auto text = content->read(each);
    if (!text) return 1;
    fmt::print("{} {} {}\n", each.permission == 0 ? '.' : each.permission, each.name, *text);
  }
  return 0;
}
