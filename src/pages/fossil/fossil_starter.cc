#include "fossil_starter.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "quarry/base/descriptor_message.h"
#include "quarry/base/log.h"
#include "quarry/base/pipe.h"
#include "quarry/base/process_title.h"
#include "quarry/base/spawn.h"

namespace quarry::pages {
namespace {

using Ended = FossilStarter::Ended;

// Maximum time to wait for the next process to exit, after all processes were killed.
constexpr int kEndingMilliseconds = 5000;
constexpr const char* kUnexpectedEnd = "the page starter exited unexpectedly";

struct Started {
  pid_t pid;
  ErrorCode code;  // if PID is -1
  std::array<char, 200> reason;
};

/// Lowers the session's share of processor time. Does nothing on a kernel without autogroup.
void lower_share(int nice) {
  // The write might have to be repeated: the kernel permits only ten writes per second to the
  // autogroup files, for all unprivileged processes together.
  constexpr auto kPause = std::chrono::milliseconds(110);
  constexpr int kAttempts = 10;
  const base::Fd file(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(nice);
  for (int i = 0; file && i < kAttempts; ++i) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written >= 0 || errno != EAGAIN) return;
    std::this_thread::sleep_for(kPause);
  }
}

/// The code that runs in the starter's own process.
class Starter {
 public:
  /// Creates the starter. ORDERS is the starter's end of the socket pair, and ENDED the starter's
  /// end of the pipe. The starter closes all other descriptors.
  Starter(const FossilStarter::Plan& plan, int orders, int ended)
      : plan_(plan), orders_(orders), ended_(ended) {}

  [[noreturn]] void run() {
    set_up();
    const base::Fd deaths(::signalfd(-1, &deaths_, SFD_CLOEXEC | SFD_NONBLOCK));
    std::array<pollfd, 2> waiting{{{orders_, POLLIN, 0}, {deaths.get(), POLLIN, 0}}};
    bool is_wanted = static_cast<bool>(deaths);
    while (is_wanted) {
      ::poll(waiting.data(), waiting.size(), -1);
      if (waiting[1].revents != 0) reap(deaths.get());
      if (waiting[0].revents != 0) is_wanted = follow_order();
    }
    for (const pid_t pid : running_) kill_fossil(pid, plan_.starts_programs);
    while (!running_.empty() && ::poll(&waiting[1], 1, kEndingMilliseconds) > 0) reap(deaths.get());
    std::error_code ignored;
    std::filesystem::remove_all(temporary_, ignored);
    ::_exit(0);
  }

 private:
  void set_up() {
    // Add the temporary folder while the log is still open, because add_temporary_folder() can log
    // an error.
    if (plan_.confinement) add_temporary_folder();
    base::close_all_but(std::array{orders_, ended_, temporary_lock_.get()});
    ::prctl(PR_SET_NAME, "page starter");
    base::set_process_title("quarry: page starter");
    // Block all signals. SIGCHLD is read with a signalfd. A signal to the whole process group, such
    // as Ctrl-C, ends the pages process, and the starter then exits too.
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    ::sigemptyset(&deaths_);
    ::sigaddset(&deaths_, SIGCHLD);
    ::setsid();
    lower_share(plan_.nice);
    ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + plan_.nice);
  }

  void add_temporary_folder() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string name = ((error ? "/tmp" : parent) / "quarry-pages-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      const auto failure = fail_errno("cannot create " + name);
      base::log(base::LogLevel::kError, "{}: large pages may fail", failure.error().message);
      return;
    }
    temporary_ = name;
    // Lock the folder, so that programs that remove old temporary files skip it
    // (systemd-tmpfiles(8)).
    temporary_lock_.reset(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ::flock(temporary_lock_.get(), LOCK_SH);
    std::erase_if(plan_.environment, [](const std::string& variable) {
      return variable.starts_with("TMPDIR=") || variable.starts_with("SQLITE_TMPDIR=");
    });
    plan_.environment.push_back("TMPDIR=" + name);
    plan_.confinement->writable.emplace_back(name);
  }

  /// Reads an order and carries it out. Returns false if the pages process has exited.
  bool follow_order() {
    std::array<std::byte, 1> nothing{};
    std::array<int, 3> descriptors{};
    const std::size_t came = base::receive_descriptors(orders_, nothing, descriptors);
    if (came != descriptors.size()) return false;
    // Programs that fossil leaves behind continue, because some mail systems deliver in the
    // background.
    const auto supervision =
        plan_.starts_programs ? std::optional(base::Background::kContinues) : std::nullopt;
    const auto pid = base::spawn({.words = plan_.words,
                                  .environment = plan_.environment,
                                  .descriptors = {descriptors.begin(), descriptors.end()},
                                  .confinement = plan_.confinement ? &*plan_.confinement : nullptr,
                                  .max_address_space = plan_.max_memory,
                                  .supervision = supervision});
    for (const int each : descriptors) ::close(each);
    Started started{.pid = -1, .code = {}, .reason = {}};
    if (pid) {
      running_.insert(*pid);
      started.pid = *pid;
    } else {
      started.code = pid.error().code;
      pid.error().message.copy(started.reason.data(), started.reason.size() - 1);
    }
    return ::send(orders_, &started, sizeof started, MSG_NOSIGNAL) == sizeof started;
  }

  void reap(int deaths) {
    signalfd_siginfo one;
    while (::read(deaths, &one, sizeof one) > 0) {
    }
    Ended ended{};
    while ((ended.pid = ::waitpid(-1, &ended.status, WNOHANG)) > 0) {
      running_.erase(ended.pid);
      (void)!::write(ended_, &ended, sizeof ended);
    }
  }

  FossilStarter::Plan plan_;
  int orders_;
  int ended_;
  std::filesystem::path temporary_;  // "": none
  base::Fd temporary_lock_;
  sigset_t deaths_{};
  std::set<pid_t> running_;
};

}  // namespace

FossilStarter::FossilStarter(pid_t pid, base::Fd orders, base::Fd ended, bool starts_programs)
    : pid_(pid),
      starts_programs_(starts_programs),
      orders_(std::move(orders)),
      ended_(std::move(ended)) {}

FossilStarter::~FossilStarter() {
  if (!orders_) return;
  orders_.reset();
  pollfd ending{ended_.get(), POLLIN, 0};
  Ended one{};
  ssize_t size = -1;
  // The starter holds the other end of the pipe until it exits.
  while (size != 0 && ::poll(&ending, 1, kEndingMilliseconds) > 0) {
    size = ::read(ended_.get(), &one, sizeof one);
  }
  if (size == 0) base::wait_for_end(pid_);
}

Result<FossilStarter> FossilStarter::make(const Plan& plan) {
  const auto failed = [] { return fail_errno("cannot start the page starter"); };
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return failed();
  base::Fd orders(ends[0]);
  const base::Fd its_orders(ends[1]);
  QUARRY_TRY_ASSIGN(base::Pipe deaths, base::make_pipe());
  ::fcntl(deaths.reading.get(), F_SETFL, O_NONBLOCK);
  const pid_t pid = ::fork();
  if (pid < 0) return failed();
  if (pid == 0) Starter(plan, its_orders.get(), deaths.writing.get()).run();
  return FossilStarter(pid, std::move(orders), std::move(deaths.reading), plan.starts_programs);
}

Result<pid_t> FossilStarter::start(const std::array<int, 3>& descriptors) {
  constexpr std::array kNothing{std::byte{0}};
  Started started{};
  ssize_t size = -1;
  if (base::send_descriptors(orders_.get(), kNothing, descriptors)) {
    do {
      size = ::recv(orders_.get(), &started, sizeof started, 0);
    } while (size < 0 && errno == EINTR);
  }
  if (size != sizeof started) return fail(ErrorCode::kIo, kUnexpectedEnd);
  if (started.pid < 0) return fail(started.code, started.reason.data());
  return started.pid;
}

Result<std::vector<Ended>> FossilStarter::ended() {
  std::vector<Ended> all;
  Ended one{};
  ssize_t size = 0;
  while ((size = ::read(ended_.get(), &one, sizeof one)) == sizeof one) all.push_back(one);
  if (size == 0 && all.empty()) return fail(ErrorCode::kIo, kUnexpectedEnd);
  return all;
}

void kill_fossil(pid_t pid, bool starts_programs) {
  if (starts_programs) {
    base::end_supervised(pid);
  } else {
    ::kill(-pid, SIGKILL);
  }
}

}  // namespace quarry::pages
