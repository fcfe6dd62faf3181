#include "quarry/base/spawn.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "quarry/base/pipe.h"
#include "quarry/base/split.h"
#include "quarry/base/transfer.h"

namespace quarry::base {
namespace {

/// Attributes and file actions for posix_spawn.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void set_files(const std::vector<Fd>& sources, const std::string& folder) {
    int place = 0;
    for (const Fd& source : sources) {
      ::posix_spawn_file_actions_adddup2(&actions_, source.get(), place++);
    }
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, place);
    if (!folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }

  void set_signals_and_group() {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_,
        static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP));
  }

  /// Starts the program. Returns 0 or an error number.
  int run(pid_t& pid, const Launch& launch) {
    const auto words = pointers_to(launch.words);
    const std::string& program = launch.program.empty() ? launch.words[0] : launch.program;
    return ::posix_spawnp(&pid, program.c_str(), &actions_, &attributes_, words.data(),
                          pointers_to(launch.environment).data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// Restores the default action of SIGCHLD, because a process that ignores SIGCHLD cannot wait for
/// its children.
void stop_ignoring_ends() {
  struct sigaction current {};
  ::sigaction(SIGCHLD, nullptr, &current);
  if (current.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);
}

/// Returns the children of this process. /proc lists them by thread.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code ended;  // set if a thread ends meanwhile
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", ended)) {
    std::ifstream list(thread.path() / "children");
    for (pid_t pid = 0; list >> pid;) found.push_back(pid);
  }
  return found;
}

/// Reaps children that have exited. Returns whether other children are still running.
bool reap_ended() {
  pid_t ended = 0;
  do {
    ended = without_interruption([] { return ::waitpid(-1, nullptr, WNOHANG); });
  } while (ended > 0);
  return ended == 0;
}

/// Calls PLAN.run() in a new thread, because a confined thread can never lift its confinement.
Result<int> run_confined(SpawnPlan& plan, pid_t& pid, const Launch& launch) {
  QUARRY_TRY_ASSIGN(const Fd rules, landlock_rules(*launch.confinement));
  Result<int> code = 0;
  try {
    std::thread([&] {
      auto confined = confine_thread(rules);
      if (confined) {
        code = plan.run(pid, launch);
      } else {
        code = std::unexpected(std::move(confined).error());
      }
    }).join();
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kIo, fmt::format("cannot start a thread: {}", error.what()));
  }
  return code;
}

[[noreturn]] void work_and_exit(const std::function<std::string()>& work, int output) {
  try {
    const std::string text = work();
    if (!write_all(output, text)) ::_exit(1);
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> own;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    own.emplace_back(*entry);
  }
  return own;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Result<pid_t> spawn(const Launch& launch) {
  // Use numbers above all targets. A lower number could be overwritten before it is duplicated.
  const int beyond = static_cast<int>(launch.descriptors.size()) + STDERR_FILENO + 1;
  std::vector<Fd> sources;
  for (const int descriptor : launch.descriptors) {
    sources.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, beyond));
    if (!sources.back()) return fail_errno("cannot start " + launch.words[0]);
  }
  stop_ignoring_ends();
  SpawnPlan plan;
  plan.set_files(sources, launch.folder);
  if (launch.has_own_group) plan.set_signals_and_group();
  pid_t pid = -1;
  int code = 0;
  if (launch.confinement == nullptr) {
    code = plan.run(pid, launch);
  } else {
    QUARRY_TRY_ASSIGN(code, run_confined(plan, pid, launch));
  }
  if (code != 0) {
    errno = code;
    auto failure = fail_errno("cannot start " + launch.words[0]);
    if (code == ENOENT) failure.error().code = ErrorCode::kNotFound;
    return failure;
  }
  return pid;
}

std::optional<int> wait_for_end(pid_t pid) {
  int status = 0;
  const pid_t ended = without_interruption([&] { return ::waitpid(pid, &status, 0); });
  return ended == pid ? std::optional(status) : std::nullopt;
}

Result<void> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return fail_errno("cannot become the parent of orphaned processes");
}

bool end_descendants() {
  constexpr std::chrono::seconds kPatience{10};
  const auto end = std::chrono::steady_clock::now() + kPatience;
  // The children of a killed child become children of this process. Therefore, repeat until this
  // process has no more children.
  while (reap_ended()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    for (const pid_t pid : children()) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Result<std::string> run_in_child(const std::function<std::string()>& work) {
  QUARRY_TRY_ASSIGN(Pipe pipe, make_pipe());
  stop_ignoring_ends();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot create a process");
  if (pid == 0) work_and_exit(work, pipe.writing.get());
  pipe.writing.reset();
  std::string text;
  std::array<char, 4096> bytes{};
  ssize_t size = 0;
  const auto read = [&] { return ::read(pipe.reading.get(), bytes.data(), bytes.size()); };
  while ((size = without_interruption(read)) > 0) {
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  if (wait_for_end(pid) == 0) return text;
  return fail(ErrorCode::kIo, "a child exited early");
}

void close_all_but(std::span<const int> kept) {
  std::vector<int> sorted(kept.begin(), kept.end());
  std::ranges::sort(sorted);
  unsigned next = STDERR_FILENO + 1;
  for (const int fd : sorted) {
    if (fd < static_cast<int>(next)) continue;
    const auto number = static_cast<unsigned>(fd);
    if (number > next) ::close_range(next, number - 1, 0);
    next = number + 1;
  }
  ::close_range(next, ~0U, 0);
}

std::string search_path() {
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
}

std::string find_program(const std::string& name, const std::string& folders) {
  const auto is_program = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (name.contains('/')) return is_program(name) ? name : "";
  std::string_view rest = folders;
  while (!rest.empty()) {
    const std::string folder(take_until(rest, ':'));
    // Skip empty and relative folders, because such folders depend on the working folder, which is
    // different in a child.
    if (folder.starts_with('/') && is_program(folder + "/" + name)) return folder + "/" + name;
  }
  return {};
}

}  // namespace quarry::base
