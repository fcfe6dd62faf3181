#include "quarry/base/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "quarry/base/pipe.h"
#include "quarry/base/split.h"
#include "quarry/base/transfer.h"
#include "supervisor.h"

namespace quarry::base {
namespace {

constexpr int kContinueInterval = 100;  // milliseconds

/// Arguments for posix_spawn. The Launch must outlive this object.
class SpawnPlan {
 public:
  explicit SpawnPlan(const Launch& launch)
      : program_(launch.program.empty() ? launch.words[0].c_str() : launch.program.c_str()),
        words_(pointers_to(launch.words)),
        environment_(pointers_to(launch.environment)),
        max_address_space_(launch.max_address_space) {
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
  int run(pid_t& pid) const {
    const int code =
        ::posix_spawnp(&pid, program_, &actions_, &attributes_, words_.data(), environment_.data());
    const rlimit limit{.rlim_cur = max_address_space_, .rlim_max = max_address_space_};
    if (code == 0 && max_address_space_ > 0) ::prlimit(pid, RLIMIT_AS, &limit, nullptr);
    return code;
  }

  /// Starts the program under a supervisor and its guard, and sets PID to the guard's process id.
  /// Returns 0 or an error number.
  int run_supervised(pid_t& pid, Background background) const {
    auto report = make_pipe();
    const Fd caller = process_handle(::getpid());
    if (!report || !caller) return errno;
    pid = ::fork();
    if (pid < 0) return errno;
    if (pid == 0) guard(*report, caller, background);
    report->writing.reset();
    // The program might stop the supervisor or the guard before they report.
    pollfd reported{.fd = report->reading.get(), .events = POLLIN, .revents = 0};
    while (::poll(&reported, 1, kContinueInterval) != 1) {
      ::kill(pid, SIGCONT);
      signal_children(pid, SIGCONT);
    }
    int code = 0;
    const auto read = [&] { return ::read(report->reading.get(), &code, sizeof code); };
    if (without_interruption(read) != sizeof code) code = EIO;
    if (code != 0) wait_for_end(pid);
    return code;
  }

 private:
  /// Starts the supervisor, which starts the program and reports 0 or an error number to REPORT.
  /// Other threads might have held locks during the fork. Therefore, neither the guard nor the
  /// supervisor allocates memory.
  [[noreturn]] void guard(const Pipe& report, const Fd& caller, Background background) const {
    prepare_supervisor("guard", "quarry: supervisor's guard");
    const Fd self = process_handle(::getpid());
    const pid_t supervisor = self ? ::fork() : -1;
    // kContinues is sufficient: a supervisor that was not killed has already killed the
    // descendants, if BACKGROUND requires this.
    if (supervisor > 0) supervise(supervisor, caller.get(), Background::kContinues);
    int code = supervisor < 0 ? errno : 0;
    pid_t program = -1;
    if (supervisor == 0) {
      prepare_supervisor("supervisor", "quarry: supervisor");
      code = run(program);
    }
    if (::write(report.writing.get(), &code, sizeof code) != sizeof code) ::_exit(1);
    if (code != 0) ::_exit(0);
    supervise(program, self.get(), background);
  }

  const char* program_;
  std::vector<char*> words_;
  std::vector<char*> environment_;
  std::uint64_t max_address_space_;
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

/// Calls RUN in a new thread, because a confined thread can never lift its confinement.
Result<int> run_confined(const Confinement& confinement, const std::function<int()>& run) {
  QUARRY_TRY_ASSIGN(const Fd rules, landlock_rules(confinement));
  Result<int> code = 0;
  try {
    std::thread([&] {
      auto confined = confine_thread(rules);
      if (confined) {
        code = run();
      } else {
        code = std::unexpected(std::move(confined).error());
      }
    }).join();
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kIo, "cannot start a thread: {}", error.what());
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
  // Use numbers above all targets. A lower descriptor could be overwritten before it is duplicated.
  const int beyond = static_cast<int>(launch.descriptors.size()) + STDERR_FILENO + 1;
  std::vector<Fd> sources;
  for (const int descriptor : launch.descriptors) {
    sources.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, beyond));
    if (!sources.back()) return fail_errno("cannot start " + launch.words[0]);
  }
  stop_ignoring_ends();
  SpawnPlan plan(launch);
  plan.set_files(sources, launch.folder);
  if (launch.has_own_group) plan.set_signals_and_group();
  pid_t pid = -1;
  const auto run = [&] {
    return launch.supervision ? plan.run_supervised(pid, *launch.supervision) : plan.run(pid);
  };
  int code = 0;
  if (launch.confinement == nullptr) {
    code = run();
  } else {
    QUARRY_TRY_ASSIGN(code, run_confined(*launch.confinement, run));
  }
  if (code != 0) {
    errno = code;
    auto failure = fail_errno("cannot start " + launch.words[0]);
    if (code == ENOENT) failure.error().code = ErrorCode::kNotFound;
    return failure;
  }
  return pid;
}

Fd process_handle(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::optional<int> wait_for_end(pid_t pid) {
  int status = 0;
  const pid_t ended = without_interruption([&] { return ::waitpid(pid, &status, 0); });
  return ended == pid ? std::optional(status) : std::nullopt;
}

void end_supervised(pid_t pid) {
  ::kill(pid, kEndSupervised);
  // The program might have stopped the guard with SIGSTOP.
  ::kill(pid, SIGCONT);
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

std::string missing_interpreter(const std::string& path) {
  // "#!INTERPRETER ARGUMENT"
  std::ifstream file(path, std::ios::binary);
  std::string interpreter;
  if (file.get() != '#' || file.get() != '!' || !(file >> interpreter)) return {};
  return find_program(interpreter).empty() ? interpreter : "";
}

}  // namespace quarry::base
