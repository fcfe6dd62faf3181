#include "quarry/base/confinement.h"

#include <fcntl.h>
#include <link.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>

namespace quarry::base {
namespace {

namespace fs = std::filesystem;

// LANDLOCK_ACCESS_FS_TRUNCATE of Landlock version 3, which the headers of Debian 12 do not define.
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;
constexpr std::uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |
                                 LANDLOCK_ACCESS_FS_REFER | kTruncate;
constexpr std::uint64_t kMakeDevice = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
// The rights that a rule for a file can contain. All other rights apply only to folders.
constexpr std::uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;

/// Returns a negative number if the kernel does not have Landlock.
long landlock_version() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

std::uint64_t known_rights() {
  const long version = landlock_version();
  std::uint64_t rights = LANDLOCK_ACCESS_FS_EXECUTE | kWrite | kMakeDevice;
  if (version < 2) rights &= ~std::uint64_t{LANDLOCK_ACCESS_FS_REFER};
  if (version < 3) rights &= ~kTruncate;
  return rights;
}

Result<void> allow(const Fd& rules, const fs::path& path, std::uint64_t rights) {
  const Fd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return {};
  if (!S_ISDIR(status.st_mode)) rights &= kOfFiles;
  const landlock_path_beneath_attr rule{.allowed_access = rights, .parent_fd = file.get()};
  if (::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) {
    return {};
  }
  return fail_errno("cannot add {} to the Landlock rules", path.string());
}

/// Returns the loader that the kernel executes for PROGRAM (PT_INTERP in elf(5)). Returns "" for a
/// static program or a script.
fs::path loader_of(const fs::path& program) {
  const Fd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto read_at = [&file](std::uint64_t offset, void* target, std::size_t size) {
    return ::pread(file.get(), target, size, static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(size);
  };
  ElfW(Ehdr) header{};
  if (!read_at(0, &header, sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!read_at(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
    if (segment.p_type != PT_INTERP) continue;
    std::array<char, PATH_MAX> path{};
    const auto size = std::min<std::uint64_t>(segment.p_filesz, path.size() - 1);
    return read_at(segment.p_offset, path.data(), size) ? path.data() : "";
  }
  return {};
}

}  // namespace

bool has_landlock() {
  return landlock_version() > 0;
}

Result<Fd> landlock_rules(const Confinement& confinement) {
  const std::uint64_t known = known_rights();
  const landlock_ruleset_attr restricted{.handled_access_fs = known};
  Fd rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &restricted, sizeof restricted, 0)));
  if (!rules) return fail_errno("cannot create Landlock rules");
  for (const fs::path& path : confinement.writable) QUARRY_TRY(allow(rules, path, known & kWrite));
  for (const fs::path& program : confinement.executable) {
    QUARRY_TRY(allow(rules, program, LANDLOCK_ACCESS_FS_EXECUTE));
    QUARRY_TRY(allow(rules, loader_of(program), LANDLOCK_ACCESS_FS_EXECUTE));
  }
  return rules;
}

Result<void> confine_thread(const Fd& rules) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      ::syscall(SYS_landlock_restrict_self, rules.get(), 0) == 0) {
    return {};
  }
  return fail_errno("cannot confine a thread with Landlock");
}

}  // namespace quarry::base
