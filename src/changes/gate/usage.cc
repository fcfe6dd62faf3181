#include "usage.h"

#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "quarry/base/blanks.h"
#include "quarry/base/number.h"

namespace quarry::changes {
namespace {

/// Returns the number of kB after NAME in a line of /proc/PID/status, or 0 if LINE has another
/// name.
std::uint64_t kilobytes(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return 0;
  line.remove_prefix(name.size());
  line = base::trim_blanks(line);
  return base::take_number<std::uint64_t>(line).value_or(0);
}

/// Returns the memory of PROCESS. Shared memory is counted once per process: it is safer to count
/// too much than too little.
std::uint64_t memory_of(const std::filesystem::path& process) {
  std::ifstream status(process / "status");
  std::uint64_t sum = 0;
  for (std::string line; std::getline(status, line);) {
    sum += kilobytes(line, "RssAnon:") + kilobytes(line, "RssShmem:") + kilobytes(line, "VmSwap:") +
           kilobytes(line, "VmPTE:");
  }
  return sum << 10;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

void add_files(Usage& usage, const std::string& folder) {
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0 || status.f_type != TMPFS_MAGIC) return;
  usage.memory += (status.f_blocks - status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize);
  usage.files += status.f_files - status.f_ffree;
}

}  // namespace

Usage usage_of(pid_t first) {
  Usage usage;
  const std::string root = fmt::format("/proc/{}/root", first);
  struct stat its {};
  struct stat ours {};
  // Report nothing until the sandbox has its own root. Before that, `root` is the root of this
  // machine.
  if (::stat(root.c_str(), &its) != 0 || ::stat("/", &ours) != 0 || its.st_dev == ours.st_dev) {
    return usage;
  }
  add_files(usage, root + "/gate");
  add_files(usage, root + "/dev/shm");
  std::error_code error;
  // The sandbox has its own /proc, which contains only the processes of the sandbox.
  for (std::filesystem::directory_iterator at(root + "/proc", error), end; !error && at != end;
       at.increment(error)) {
    if (is_number(at->path().filename().string())) usage.memory += memory_of(at->path());
  }
  return usage;
}

}  // namespace quarry::changes
