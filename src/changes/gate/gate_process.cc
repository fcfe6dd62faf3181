#include "gate_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "gate_command.h"
#include "quarry/base/memory_file.h"
#include "quarry/base/pipe.h"
#include "quarry/base/spawn.h"
#include "system_calls.h"
#include "usage.h"

namespace quarry::changes {
namespace {

using base::Fd;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kCheckInterval{100};
/// Maximum time to wait for killed processes to exit. It is long because the kernel might have to
/// free gigabytes of memory.
constexpr std::chrono::seconds kPatience{30};
constexpr std::size_t kMaxStatus = 4096;
constexpr std::size_t kPiece = std::size_t{64} << 10;

void do_not_wait_at(const Fd& fd) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
}

bool is_readable(const Fd& fd, milliseconds timeout) {
  pollfd ready{fd.get(), POLLIN, 0};
  return ::poll(&ready, 1, static_cast<int>(timeout.count())) > 0;
}

/// Descriptors for bwrap in addition to the standard streams, in the order of gate_command.h.
Result<std::vector<Fd>> sandbox_files() {
  std::vector<Fd> files;
  QUARRY_TRY_ASSIGN(Fd calls, gate_calls());
  files.push_back(std::move(calls));
  for (const GateFile& file : gate_files()) {
    QUARRY_TRY_ASSIGN(Fd text, base::memory_file(file.text));
    files.push_back(std::move(text));
  }
  return files;
}

/// Returns the number NAME in STATUS, or nullopt if NAME is missing. STATUS is the text that bwrap
/// has written to --json-status-fd so far, a sequence of JSON objects:
///
///   { "child-pid": N }     the first process of the sandbox
///   { "exit-code": N }     exit code of the program; missing if it was never started
std::optional<int> number_in(std::string_view status, const char* name) {
  while (true) {
    const std::size_t begin = status.find('{');
    const std::size_t end = status.find('}');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
    const auto object =
        nlohmann::json::parse(status.substr(begin, end - begin + 1), nullptr, false);
    if (object.is_object() && object.contains(name) && object[name].is_number_integer()) {
      return object[name].get<int>();
    }
    status.remove_prefix(end + 1);
  }
}

}  // namespace

Result<GateProcess> GateProcess::start(const std::vector<std::string>& words,
                                       const std::string& folder, const GateOptions& options,
                                       std::function<bool()> interrupted) {
  QUARRY_TRY_ASSIGN(base::Pipe input, base::make_pipe());
  QUARRY_TRY_ASSIGN(base::Pipe output, base::make_pipe());
  QUARRY_TRY_ASSIGN(base::Pipe status, base::make_pipe());
  std::vector<Fd> files;
  std::vector<int> descriptors = {input.reading.get(), output.writing.get(), output.writing.get()};
  if (options.is_sandboxed) {
    QUARRY_TRY_ASSIGN(files, sandbox_files());
    descriptors.push_back(status.writing.get());
    for (const Fd& file : files) descriptors.push_back(file.get());
  }
  // A sandbox does not need a supervisor, because bwrap and the kernel kill all processes in it.
  const auto supervision =
      options.is_sandboxed ? std::nullopt : std::optional(base::Background::kEnds);
  QUARRY_TRY_ASSIGN(const pid_t pid, base::spawn({.words = words,
                                                  .environment = {"PATH=" + base::search_path()},
                                                  .descriptors = descriptors,
                                                  .folder = folder,
                                                  .supervision = supervision}));
  GateProcess process(pid, options, std::move(interrupted));
  process.ending_ = base::process_handle(pid);
  process.input_ = std::move(input.writing);
  process.output_end_ = std::move(output.reading);
  process.status_end_ = std::move(status.reading);
  for (const Fd* fd : {&process.input_, &process.output_end_, &process.status_end_}) {
    do_not_wait_at(*fd);
  }
  return process;
}

GateProcess::~GateProcess() {
  if (!ending_ || has_ended_) return;
  kill_all();
  base::wait_for_end(pid_);
}

Result<void> GateProcess::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!input_ || has_ended())
      return fail(ErrorCode::kDiscarded, "the gate stopped reading its input");
    const ssize_t size = ::write(input_.get(), bytes.data(), std::min(bytes.size(), kPiece));
    if (size > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      exchange();
    } else if (errno != EINTR) {
      input_.reset();
    }
  }
  return {};
}

void GateProcess::wait() {
  input_.reset();
  while (!has_ended()) exchange();
  read_status();
  kill_all();
  if (first_) is_readable(first_, kPatience);
  // Without a sandbox, other processes might keep the pipe open, so do not wait for the end of the
  // output.
  const auto end = Clock::now() + (is_sandboxed_ ? milliseconds(kPatience) : milliseconds(0));
  do {
    read_output();
  } while (output_end_ && Clock::now() < end && (is_readable(output_end_, kCheckInterval) || true));
}

std::optional<int> GateProcess::exit_code() const {
  if (is_sandboxed_) return number_in(status_text_, "exit-code");
  if (!status_) return std::nullopt;
  return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
}

bool GateProcess::has_ended() {
  if (has_ended_) return true;
  int status = 0;
  const pid_t pid = ::waitpid(pid_, &status, WNOHANG);
  if (pid == 0 || (pid < 0 && errno == EINTR)) return false;
  // If another thread has reaped the process, leave its status unknown.
  if (pid == pid_) status_ = status;
  has_ended_ = true;
  return true;
}

/// Waits for events for a short time, and handles them.
void GateProcess::exchange() {
  std::array<pollfd, 4> ready{{{ending_.get(), POLLIN, 0},
                               {output_end_.get(), POLLIN, 0},
                               {status_end_.get(), POLLIN, 0},
                               {input_.get(), POLLOUT, 0}}};
  ::poll(ready.data(), ready.size(), static_cast<int>(kCheckInterval.count()));
  if (ready[1].revents != 0) read_output();
  if (ready[2].revents != 0) read_status();
  if (Clock::now() >= next_check_) check_bounds();
}

void GateProcess::check_bounds() {
  next_check_ = Clock::now() + kCheckInterval;
  if (end_ != End::kByItself) return;
  if (Clock::now() >= deadline_) return stop(End::kTimedOut);
  if (interrupted_ && interrupted_()) return stop(End::kInterrupted);
  if (!first_) return;
  const Usage usage = usage_of(first_pid_);
  if (max_memory_ > 0 && usage.memory > max_memory_) return stop(End::kTooMuchMemory);
  if (usage.files > max_files_) stop(End::kTooManyFiles);
}

void GateProcess::read_output() {
  std::array<char, 65536> buffer{};
  // The loop is limited, so that it ends even if the gate writes continuously.
  for (int i = 0; i < 16 && output_end_; ++i) {
    const ssize_t size = ::read(output_end_.get(), buffer.data(), buffer.size());
    if (size == 0) output_end_.reset();
    if (size <= 0) return;
    output_.add({buffer.data(), static_cast<std::size_t>(size)});
  }
}

void GateProcess::read_status() {
  std::array<char, 512> buffer{};
  while (status_end_ && status_text_.size() < kMaxStatus) {
    const ssize_t size = ::read(status_end_.get(), buffer.data(), buffer.size());
    if (size == 0) status_end_.reset();
    if (size <= 0) break;
    status_text_.append(buffer.data(), static_cast<std::size_t>(size));
  }
  if (first_) return;
  // The pid is still valid, because bwrap has not reaped the first process of the sandbox yet.
  if (const auto pid = number_in(status_text_, "child-pid")) {
    first_pid_ = *pid;
    first_ = base::process_handle(*pid);
  }
}

void GateProcess::stop(End why) {
  end_ = why;
  kill_all();
}

/// Kills all processes of the gate with SIGKILL. Does not send another signal first. bwrap would
/// not forward it, and the gate could use the time to delay its exit.
void GateProcess::kill_all() const {
  if (first_) ::syscall(SYS_pidfd_send_signal, first_.get(), SIGKILL, nullptr, 0);
  if (is_sandboxed_) {
    ::kill(-pid_, SIGKILL);
  } else if (!has_ended_) {
    base::end_supervised(pid_);
  }
}

}  // namespace quarry::changes
