#include "gate_command.h"

#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "quarry/base/escape.h"
#include "quarry/base/spawn.h"

namespace quarry::changes {
namespace {

constexpr const char* kFolder = "/gate";
constexpr uid_t kInnerUser = 1000;  // user id inside the sandbox
constexpr std::uint64_t kSharedMemory = std::uint64_t{64} << 20;
constexpr const char* kPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Prevents core files. With a limit of 0, the kernel would still start a core_pattern program.
constexpr const char* kNoCore = "--core=1";

/// Folders, or symbolic links to folders in /usr on systems with a merged /usr.
constexpr auto kSystemFolders =
    std::to_array<std::string_view>({"bin", "sbin", "lib", "lib32", "lib64", "libx32"});
/// Files that are needed by compilers, by the dynamic linker, and for local time.
constexpr auto kSystemFiles =
    std::to_array<const char*>({"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
                                "/etc/alternatives", "/etc/localtime"});

/// A shell script that unpacks the tree and then executes the gate. The gate's command line is
/// passed in the arguments, so the script does not need to quote it. With -m, files get the current
/// time, because make does not work well with files from 1970. The warning is turned off because
/// tar does not support the pax keyword for names that are not UTF-8.
constexpr const char* kUnpack =
    "umask 022\n"
    "tar -x -m --no-same-owner --warning=no-unknown-keyword -f - -C .. || {\n"
    "  echo 'cannot unpack the tree: see changes.gate_disk' >&2; exit 100\n"
    "}\n"
    "exec \"$@\" < /dev/null";

bool is_below(std::string_view path, std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return path == folder || folder == "/" ||
         (path.starts_with(folder) && path[folder.size()] == '/');
}

bool is_system(std::string_view path) {
  return is_below(path, "/usr") || std::ranges::any_of(kSystemFolders, [&](std::string_view name) {
           return is_below(path, fmt::format("/{}", name));
         });
}

void append(std::vector<std::string>& words, std::vector<std::string> more) {
  std::ranges::move(more, std::back_inserter(words));
}

void append_system(std::vector<std::string>& words) {
  append(words, {"--ro-bind", "/usr", "/usr"});
  for (const std::string_view name : kSystemFolders) {
    const std::filesystem::path folder = fmt::format("/{}", name);
    std::error_code ignored;
    const auto status = std::filesystem::symlink_status(folder, ignored);
    if (std::filesystem::is_symlink(status)) {
      const std::string target = std::filesystem::read_symlink(folder, ignored);
      append(words, {"--symlink", target, folder});
    } else if (std::filesystem::is_directory(status)) {
      append(words, {"--ro-bind", folder, folder});
    }
  }
  for (const char* file : kSystemFiles) append(words, {"--ro-bind-try", file, file});
}

void append_readable(std::vector<std::string>& words, const GateOptions& options) {
  for (const std::string& path : options.readable) append(words, {"--ro-bind", path, path});
  const std::string& program = options.command.front();
  const bool is_there = !program.starts_with('/') || is_system(program) ||
                        std::ranges::any_of(options.readable, [&](const auto& path) {
                          return is_below(program, path);
                        });
  if (!is_there) append(words, {"--ro-bind", program, program});
}

std::vector<std::string> outer_words(const std::optional<GateUser>& user) {
  std::vector<std::string> words;
  if (user) {
    words = {"setpriv",
             fmt::format("--reuid={}", user->user),
             fmt::format("--regid={}", user->group),
             "--clear-groups",
             "--no-new-privs",
             "--"};
  }
  append(words, {"choom", "-n", "1000", "--", "nice", "-n", "10"});
  return words;
}

}  // namespace

Result<void> check_options(const GateOptions& options) {
  if (options.command.empty()) return fail(ErrorCode::kInvalid, "changes.gate: no program given");
  if (options.timeout.count() <= 0 || options.processor_time.count() <= 0 || options.disk == 0 ||
      options.files == 0 || options.processes == 0 || options.open_files < 16) {
    return fail(ErrorCode::kInvalid,
                "changes.gate_…: every limit must be greater than 0, and the limit on open files "
                "must be at least 16");
  }
  for (const std::string& path : options.readable) {
    if (!path.starts_with('/')) {
      return fail(ErrorCode::kInvalid, "changes.gate_read: \"{}\" is not an absolute path",
                  base::printable(path));
    }
  }
  if (!options.is_sandboxed) return {};
  for (const std::string& path : options.hidden) {
    const bool is_seen =
        is_system(path) || std::ranges::any_of(options.readable, [&](const auto& readable) {
          return is_below(path, readable) || is_below(readable, path);
        });
    if (!is_seen) continue;
    return fail(ErrorCode::kInvalid,
                "gates must not be able to read {}: it is in a "
                "system folder, or included in changes.gate_read",
                base::printable(path));
  }
  return {};
}

Result<void> check_program(const std::string& program, const std::optional<GateUser>& user) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kDenied, "changes.gate: cannot execute {}: {}", base::printable(program),
                why);
  };
  // Do not check a program in the tree here. If it cannot be executed, only the change set fails.
  if (program.contains('/') && !program.starts_with('/')) return {};
  const std::string path = base::find_program(program, kPath);
  if (path.empty()) return refuse("it does not exist or is not an executable file");
  if (user) {
    struct stat status {};
    ::stat(path.c_str(), &status);
    const mode_t needed = status.st_uid == user->user    ? S_IXUSR
                          : status.st_gid == user->group ? S_IXGRP
                                                         : S_IXOTH;
    if ((status.st_mode & needed) == 0) return refuse("changes.gate_user may not execute it");
  }
  const std::string interpreter = base::missing_interpreter(path);
  if (interpreter.empty()) return {};
  return refuse(fmt::format("its interpreter {} does not exist", base::printable(interpreter)));
}

Result<std::optional<GateUser>> gate_user(const GateOptions& options) {
  const bool is_root = ::geteuid() == 0;
  if (options.user.empty()) {
    if (!is_root) return std::nullopt;
    return fail(ErrorCode::kInvalid, "gates may not run as root: set changes.gate_user");
  }
  const passwd* entry = ::getpwnam(options.user.c_str());
  if (entry == nullptr) {
    return fail(ErrorCode::kNotFound, "changes.gate_user: user {} does not exist",
                base::printable(options.user));
  }
  if (entry->pw_uid == 0)
    return fail(ErrorCode::kInvalid, "changes.gate_user: gates may not run as root");
  if (is_root) return GateUser{entry->pw_uid, entry->pw_gid};
  if (entry->pw_uid == ::geteuid()) return std::nullopt;
  return fail(ErrorCode::kDenied, "changes.gate_user: only root can run gates as {}",
              base::printable(options.user));
}

std::vector<GateFile> gate_files() {
  return {{"/etc/passwd",
           "root:x:0:0:root:/:/usr/sbin/nologin\ngate:x:1000:1000:gate:/gate/tmp:/bin/sh\n"},
          {"/etc/group", "root:x:0:\ngate:x:1000:\n"},
          {"/etc/hosts", "127.0.0.1 localhost gate\n::1 localhost gate\n"},
          {"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"}};
}

std::vector<std::string> gate_environment(const GateCase& gate_case, const std::string& folder) {
  return {fmt::format("PATH={}", kPath),
          "LANG=C.UTF-8",
          "USER=gate",
          "LOGNAME=gate",
          fmt::format("HOME={}/tmp", folder),
          fmt::format("TMPDIR={}/tmp", folder),
          fmt::format("QUARRY_CHANGE_SET={}", gate_case.change_set),
          fmt::format("QUARRY_BRANCH={}", gate_case.branch),
          fmt::format("QUARRY_TIP={}", gate_case.tip),
          fmt::format("QUARRY_AUTHOR={}", gate_case.author),
          fmt::format("QUARRY_FILES={}/files", folder)};
}

std::vector<std::string> inner_words(const GateOptions& options) {
  std::vector<std::string> words = {
      "/usr/bin/prlimit", kNoCore, fmt::format("--cpu={}", options.processor_time.count()),
      fmt::format("--fsize={}", options.disk), fmt::format("--nofile={}", options.open_files)};
  if (options.addresses > 0) words.push_back(fmt::format("--as={}", options.addresses));
  // Limit the number of processes only in a sandbox. Without a sandbox, the limit would also count
  // the user's processes outside the gate.
  if (options.is_sandboxed) words.push_back(fmt::format("--nproc={}", options.processes));
  append(words, {"--", "/bin/sh", "-c", kUnpack, "gate"});
  append(words, options.command);
  return words;
}

std::vector<std::string> sandbox_words(const GateOptions& options, const GateCase& gate_case,
                                       const std::optional<GateUser>& user) {
  std::vector<std::string> words = outer_words(user);
  append(words, {"bwrap", "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net",
                 "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--uid",
                 fmt::format("{}", kInnerUser), "--gid", fmt::format("{}", kInnerUser),
                 "--hostname", "gate", "--cap-drop", "ALL", "--new-session", "--die-with-parent"});
  append(words, {"--json-status-fd", fmt::format("{}", kStatusDescriptor), "--seccomp",
                 fmt::format("{}", kCallsDescriptor)});
  append_system(words);
  int descriptor = kFirstFileDescriptor;
  for (const GateFile& file : gate_files()) {
    append(words, {"--ro-bind-data", fmt::format("{}", descriptor++), file.path});
  }
  append(words, {"--proc", "/proc", "--dev", "/dev", "--size", fmt::format("{}", kSharedMemory),
                 "--tmpfs", "/dev/shm", "--remount-ro", "/dev"});
  append(words, {"--size", fmt::format("{}", options.disk), "--tmpfs", kFolder, "--dir",
                 "/gate/tree", "--dir", "/gate/tmp", "--symlink", "gate/tmp", "/tmp", "--dir",
                 "/var", "--symlink", "../gate/tmp", "/var/tmp"});
  // Mount these paths after the folders that might contain them.
  append_readable(words, options);
  append(words, {"--remount-ro", "/", "--chdir", "/gate/tree"});
  append(words, {"--clearenv"});
  for (const std::string& each : gate_environment(gate_case, kFolder)) {
    const std::size_t equals = each.find('=');
    append(words, {"--setenv", each.substr(0, equals), each.substr(equals + 1)});
  }
  words.emplace_back("--");
  append(words, inner_words(options));
  return words;
}

std::vector<std::string> bare_words(const GateOptions& options,
                                    const std::optional<GateUser>& user) {
  std::vector<std::string> words = outer_words(user);
  append(words, inner_words(options));
  return words;
}

}  // namespace quarry::changes
