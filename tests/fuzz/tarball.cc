// Input: a byte, and a complete tarball or an archive without its end blocks. The byte selects the
// kind of input and the compression of the archive. An accepted tarball must have the properties on
// which the queue relies. If its content is written as a new tarball, that tarball must also be
// accepted.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "made_tarball.h"
#include "quarry/artifact/structural.h"
#include "quarry/base/fd.h"
#include "quarry/changes/tarball.h"
#include "require.h"

using namespace quarry::changes;
using quarry::base::Fd;
using quarry::base::Result;

namespace {

constexpr TarballLimits kLimits{
    .tarball = 1 << 20, .expanded = 4 << 20, .file = 1 << 20, .entries = 1000};

Fd in_memory(std::string_view bytes) {
  Fd file(::memfd_create("tarball", MFD_CLOEXEC));
  REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return file;
}

std::string tarball_of(std::string_view input) {
  if (input.empty()) return {};
  const auto way = static_cast<unsigned char>(input.front()) % 4;
  input.remove_prefix(1);
  if (way == 0) return std::string(input);
  // The end blocks are added here, because a fuzzer does not find these blocks of zeros.
  const std::string archive = std::string(input) + tar_end();
  if (way == 1) return archive;
  return way == 2 ? gzip(archive) : zstd(archive);
}

void check(const ChangeSetContent& content) {
  REQUIRE(std::ranges::is_sorted(content.files(), {}, &SubmittedFile::name));
  for (const SubmittedFile& file : content.files()) {
    REQUIRE(quarry::artifact::is_simple_path(file.name));
    REQUIRE(std::ranges::count(content.meta().files, file.name) == 1);
    REQUIRE(std::ranges::count(content.files(), file.name, &SubmittedFile::name) == 1);
    const auto text = content.read(file);
    REQUIRE(text && text->size() == file.size && file.size <= kLimits.file);
    if (file.permission == 'l') REQUIRE(text->front() != '/');
    for (const SubmittedFile& other : content.files()) {
      REQUIRE(!other.name.starts_with(file.name + "/"));
    }
  }
}

std::string written_anew(const ChangeSetContent& content) {
  std::vector<FileToSubmit> files;
  for (const SubmittedFile& file : content.files()) {
    files.push_back({file.name, file.permission, [&] { return content.read(file); }});
  }
  std::string out;
  const auto done = write_tarball(
      [&](std::string_view bytes) {
        out += bytes;
        return Result<void>();
      },
      content.meta(), files, TarballCompression::kNone);
  REQUIRE(done);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = tarball_of({reinterpret_cast<const char*>(data), size});
  const auto content = read_tarball(in_memory(bytes).get(), kLimits, "/tmp");
  if (!content) {
    REQUIRE(!content.error().message.empty());
    return 0;
  }
  check(*content);
  const auto again = read_tarball(in_memory(written_anew(*content)).get(), {}, "/tmp");
  REQUIRE(again && again->meta() == content->meta());
  REQUIRE(again->files().size() == content->files().size());
  for (std::size_t i = 0; i < again->files().size(); ++i) {
    const SubmittedFile& a = content->files()[i];
    const SubmittedFile& b = again->files()[i];
    REQUIRE(a.name == b.name && a.permission == b.permission);
    REQUIRE(*content->read(a) == *again->read(b));
  }
  return 0;
}
