#include "mail_command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/fd.h"

extern char** environ;

namespace quarry::backoffice {

using base::ErrorCode;
using base::fail;
using base::Fd;
using base::Result;
using Clock = std::chrono::steady_clock;

namespace {

// Of what the command says of itself, in bytes.
constexpr std::size_t kMaxWhy = 500;
// The shell's words for a command that is not there, or is none.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

/// The mail as an open file, at its start: nothing is waited for, whenever it is read.
Result<Fd> as_file(std::string_view message) {
  Fd file(::memfd_create("mail", MFD_CLOEXEC));
  if (!file) return base::fail_errno("memfd_create");
  while (!message.empty()) {
    const ssize_t written = ::write(file.get(), message.data(), message.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return base::fail_errno("a mail cannot be kept in memory");
    message.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return base::fail_errno("lseek");
  return file;
}

/// Starts COMMAND in a process group of its own. Returns errno.
int start(const std::string& command, int input, int output, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigset_t usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&usual, signal);
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string shell = "/bin/sh";
  std::string option = "-c";
  std::string line = command;
  const std::array<char*, 4> words{shell.data(), option.data(), line.data(), nullptr};
  const int code = ::posix_spawn(&pid, words[0], &actions, &attributes, words.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return code;
}

/// Reads what OUTPUT has just now; whether there may be more to come.
bool read_some(int output, std::string& why) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(output, buffer.data(), buffer.size());
  if (got > 0) {
    const std::size_t room = kMaxWhy - std::min(kMaxWhy, why.size());
    why.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
  }
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/// Whether PID has ended before DEADLINE; WHY is what it printed.
bool wait_for(pid_t pid, int output, Clock::time_point deadline, std::string& why) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  bool is_open = true;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || !process) return false;
    std::array<pollfd, 2> polled{{{process.get(), POLLIN, 0}, {is_open ? output : -1, POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    if (polled[1].revents != 0) is_open = read_some(output, why);
    if (polled[0].revents != 0 && (!is_open || polled[1].revents == 0)) return true;
  }
}

Result<void> verdict(int status, const std::string& what, const std::string& why) {
  const std::string said = why.empty() ? "" : fmt::format(": {}", base::printable(why, kMaxWhy));
  if (WIFSIGNALED(status)) {
    return fail(ErrorCode::kIo,
                fmt::format("{} ended by signal {}{}", what, WTERMSIG(status), said));
  }
  const int code = WEXITSTATUS(status);
  if (code == 0) return {};
  const std::string message = fmt::format("{} ended with exit code {}{}", what, code, said);
  if (code == kNotFound || code == kNotExecutable) return fail(ErrorCode::kBusy, message);
  const bool is_refused = code == EX_DATAERR || code == EX_NOUSER || code == EX_NOHOST;
  return fail(is_refused ? ErrorCode::kDenied : ErrorCode::kIo, message);
}

}  // namespace

MailCommand::MailCommand(std::string command, std::chrono::milliseconds timeout)
    : command_(std::move(command)), timeout_(timeout) {}

Result<void> MailCommand::send(const Letter& letter) {
  // What the command line holds (a password, say) is not for logs.
  const std::string what = "the command of email-send-command";
  QUARRY_TRY_ASSIGN(Fd input, as_file(letter.message));
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno("pipe2");
  const Fd output(ends[0]);
  Fd other_end(ends[1]);
  ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
  pid_t pid = -1;
  if (const int code = start(command_, input.get(), other_end.get(), pid); code != 0) {
    errno = code;
    return fail(ErrorCode::kBusy, base::fail_errno(what + " cannot be started").error().message);
  }
  other_end.reset();
  std::string why;
  const bool has_ended = wait_for(pid, output.get(), Clock::now() + timeout_, why);
  if (!has_ended) ::kill(-pid, SIGKILL);
  int status = 0;
  pid_t waited = -1;
  do {
    waited = ::waitpid(pid, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (waited < 0) return base::fail_errno("how " + what + " ended is not known");
  if (!has_ended) {
    return fail(ErrorCode::kIo, fmt::format("{} took longer than {} s and was ended", what,
                                            timeout_.count() / 1000));
  }
  return verdict(status, what, why);
}

}  // namespace quarry::backoffice
