#include "pool/slow_log.h"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <fstream>
#include <string>

#include "eventually.h"

using namespace quarry::master;
using quarry::base::ErrorCode;
using quarry::scoreboard::Stage;

namespace {

SlowRequest a_request() {
  SlowRequest request;
  request.service = "pool www";
  request.pid = 17;
  request.seconds = 5.0234;
  request.state.stage = Stage::kExecuting;
  request.state.method.assign("POST");
  request.state.uri.assign("/team/xfer");
  request.state.content_length = 5120;
  request.state.user.assign("writer");
  request.state.repository.assign("team/project");
  request.state.operation.assign("push");
  request.state.doing.assign("reading cards: 3 file");
  return request;
}

char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number;
  std::string name;
  char letter = 0;
  file >> number >> name >> letter;
  return letter;
}

void wait_for_state(pid_t pid, char state) {
  REQUIRE(eventually([&] { return state_of(pid) == state; }));
}

/// A child of this process that waits in a function of its own.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ == 0) wait_for_ever();
    wait_for_state(pid_, 'S');
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] [[gnu::noinline]] static void wait_for_ever() {
    for (;;) ::pause();
  }
  pid_t pid_;
};

/// One that cannot be stopped: asleep in the kernel until a child of its own lets it go.
class DeepSleeper {
 public:
  DeepSleeper() : pid_(::fork()) {
    if (pid_ == 0) sleep_in_the_kernel();
    wait_for_state(pid_, 'D');
  }
  ~DeepSleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] static void sleep_in_the_kernel() {
    if (::vfork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
      for (;;) ::pause();
    }
    ::_exit(0);
  }
  pid_t pid_;
};

bool is_stopped(pid_t pid) {
  int status = 0;
  return ::waitpid(pid, &status, WNOHANG | WUNTRACED) != 0;
}

}  // namespace

TEST_CASE("an entry says what the request is, how far it has come, and where its worker is") {
  Backtrace backtrace;
  backtrace.frames = {"[0x0000000000000001] one()", "[0x0000000000000002] two()"};
  CHECK(slow_log_entry(a_request(), backtrace) ==
        "[pool www] pid 17\n"
        "request = POST \"/team/xfer\" (5120 bytes)\n"
        "user = writer\n"
        "repository = team/project\n"
        "operation = push\n"
        "seconds = 5.023\n"
        "stage = executing\n"
        "doing = reading cards: 3 file\n"
        "[0x0000000000000001] one()\n"
        "[0x0000000000000002] two()\n"
        "\n");
}

TEST_CASE("an entry names the statement that was seen running") {
  SlowRequest request = a_request();
  request.state.sql.assign("SELECT 1\n FROM blob");
  request.micros_since_sql = 2000;
  CHECK(slow_log_entry(request, Backtrace{})
            .find("\nsql = SELECT 1\\x0a FROM blob (0.002 s ago)\n") != std::string::npos);
}

TEST_CASE("an entry without a backtrace says why, and nobody can forge a line of it") {
  SlowRequest request = a_request();
  request.state.uri.assign("/x\nuser = root");
  const std::string entry = slow_log_entry(
      request, quarry::base::fail(ErrorCode::kDenied, "ptrace: Operation not permitted"));
  CHECK(entry.find("request = POST \"/x\\x0auser = root\" (5120 bytes)\n") != std::string::npos);
  CHECK(entry.ends_with("\nno backtrace: ptrace: Operation not permitted\n\n"));
}

TEST_CASE("a backtrace names the functions of another process, which then goes on") {
  const Sleeper sleeper;
  const auto backtrace = backtrace_of(sleeper.pid(), ::getpid(), 10);
  REQUIRE(backtrace);
  CHECK(backtrace->frames.size() > 1);
  CHECK(backtrace->frames.size() <= 10);
  CHECK(std::ranges::any_of(backtrace->frames, [](const std::string& frame) {
    return frame.find("Sleeper::wait_for_ever()") != std::string::npos;
  }));
  CHECK_FALSE(is_stopped(sleeper.pid()));
}

TEST_CASE("a process that cannot be stopped is given up, and left as it was") {
  const DeepSleeper sleeper;
  // In a process of its own, as in the master's service: what it has asked for ends with it.
  const pid_t writer = ::fork();
  REQUIRE(writer >= 0);
  if (writer == 0) {
    const auto backtrace = backtrace_of(sleeper.pid(), ::getppid(), 10);
    const bool is_given_up =
        !backtrace && backtrace.error().message.find("asleep in the kernel") != std::string::npos;
    ::_exit(is_given_up ? 0 : 1);
  }
  int status = -1;
  CHECK(::waitpid(writer, &status, 0) == writer);
  CHECK(status == 0);
  CHECK_FALSE(is_stopped(sleeper.pid()));
}

TEST_CASE("a process that is not the master's child is left alone") {
  const Sleeper sleeper;
  CHECK_FALSE(backtrace_of(sleeper.pid(), ::getppid(), 10));
}
