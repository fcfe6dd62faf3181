// Cached content is the file into which the contents of the tarball were read, with a trailer:
//
//   PACKED (packing.h)   its size, 8 bytes   CRC-32 of all bytes before it, 8 bytes
#include <fcntl.h>
#include <fmt/core.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "packing.h"
#include "quarry/base/fd.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/tarball.h"
#include "tar_reader.h"

namespace quarry::changes {
namespace {

namespace fs = std::filesystem;

// Maximum size of cached content. Larger contents are read again from the tarball when the change
// set lands. Compared to landing, this is fast.
constexpr std::uint64_t kMaxKept = std::uint64_t{1} << 20;
constexpr std::size_t kNumber = sizeof(std::uint64_t);

fs::path path_of(const fs::path& folder, const ChangeSetName& name) {
  return folder / (name.text() + std::string(kKeptContent));
}

std::string bytes_of(std::uint64_t number) {
  return {reinterpret_cast<const char*>(&number), kNumber};
}

std::uint64_t number_in(std::string_view bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), kNumber);
  return number;
}

std::uint64_t checksum_of(std::string_view bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

Result<std::string> read_all(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return fail_errno("cannot examine cached contents");
  if (static_cast<std::uint64_t>(status.st_size) > 2 * kMaxKept) {
    return fail(ErrorCode::kLimit, "too large to be cached");
  }
  std::string all(static_cast<std::size_t>(status.st_size), '\0');
  QUARRY_TRY(read_at(file, all, 0));
  return all;
}

}  // namespace

Result<void> keep_content(const ChangeSetContent& content, const fs::path& folder,
                          const ChangeSetName& name) {
  const int file = content.contents().get();
  QUARRY_TRY_ASSIGN(std::string all, read_all(file));
  const std::uint64_t contents = all.size();
  const std::string tail = packed(TarballEntries{
      .has_meta = true, .meta = content.meta().text(), .files = content.files(), .folders = {}});
  if (contents + tail.size() > kMaxKept) return fail(ErrorCode::kLimit, "too large to be cached");
  all += tail;
  all += bytes_of(tail.size());
  all += bytes_of(checksum_of(all));
  QUARRY_TRY(write_at(file, std::string_view(all).substr(contents), contents));
  const std::string open_file = fmt::format("/proc/self/fd/{}", file);
  if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path_of(folder, name).c_str(),
               AT_SYMLINK_FOLLOW) == 0) {
    return {};
  }
  if (errno == ENOENT || errno == EXDEV || errno == EPERM) {
    return fail(ErrorCode::kDiscarded, "this file system cannot link an unnamed file");
  }
  return fail_errno("cannot cache contents");
}

bool has_content(const fs::path& folder, const ChangeSetName& name) {
  return ::access(path_of(folder, name).c_str(), F_OK) == 0;
}

void drop_content(const fs::path& folder, const ChangeSetName& name) {
  ::unlink(path_of(folder, name).c_str());
}

Result<ChangeSetContent> take_content(const fs::path& folder, const ChangeSetName& name,
                                      const TarballLimits& limits) {
  const fs::path path = path_of(folder, name);
  base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return fail(ErrorCode::kNotFound, "nothing is cached");
  if (!file) return fail_errno(path.string());
  ::unlink(path.c_str());
  QUARRY_TRY_ASSIGN(const std::string all, read_all(file.get()));
  std::string_view rest = all;
  const auto take_number = [&rest] {
    const std::uint64_t number = number_in(rest.substr(rest.size() - kNumber));
    rest.remove_suffix(kNumber);
    return number;
  };
  if (rest.size() < 2 * kNumber || take_number() != checksum_of(rest)) {
    return fail(ErrorCode::kInvalid, "the cached contents are damaged");
  }
  const std::uint64_t size = take_number();
  if (size > rest.size()) return fail(ErrorCode::kInvalid, "the cached contents are damaged");
  const std::uint64_t contents = rest.size() - size;
  QUARRY_TRY_ASSIGN(auto entries, unpacked(rest.substr(contents), contents, limits));
  return checked_content(std::move(entries), std::move(file));
}

}  // namespace quarry::changes
