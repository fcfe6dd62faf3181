#include "quarry/base/command.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "temporary_folder.h"

using namespace quarry::base;
using namespace std::chrono_literals;
using How = CommandEnd::How;

namespace {

Command shell(const std::string& text) {
  return {.words = {"sh", "-c", text}};
}

CommandEnd end_of(
    const Command& command, const std::function<bool()>& interrupted = [] { return false; }) {
  auto end = run_command(command, interrupted);
  REQUIRE(end);
  return *std::move(end);
}

/// Returns the process IDs that a command has written to the file "pids" in FOLDER.
std::vector<pid_t> pids_in(const TemporaryFolder& folder) {
  std::vector<pid_t> all;
  std::ifstream file(folder / "pids");
  for (pid_t pid = 0; file >> pid;) all.push_back(pid);
  return all;
}

}  // namespace

TEST_CASE("a command gets its input, and the output of both streams is captured") {
  Command command = shell("cat; echo error >&2; pwd; exit 3");
  const std::string input(100'000, 'x');
  command.input = input;
  command.folder = "/usr";
  command.max_output = 200'000;
  const CommandEnd end = end_of(command);
  CHECK((end.output == input + "error\n/usr\n"));
  CHECK(end.how == How::kExited);
  CHECK(end.in_words() == "exit status 3");
  CHECK_FALSE(end.is_success());
  CHECK(end_of(shell("true")).is_success());
}

TEST_CASE("a command may leave its input unread, and its output is truncated") {
  const std::string input(1'000'000, 'x');
  Command command = shell("yes | head -c 1000000");
  command.input = input;
  const CommandEnd end = end_of(command);
  CHECK(end.is_success());
  CHECK(end.output.size() == command.max_output);
}

TEST_CASE("a command that times out, or is interrupted, ends with its children") {
  Command command = shell("sleep 600 & wait");
  command.timeout = 50ms;
  const CommandEnd late = end_of(command);
  CHECK(late.how == How::kTimedOut);
  CHECK(late.in_words() == "timed out");
  command.timeout = 600s;
  CHECK(end_of(command, [] { return true; }).how == How::kInterrupted);
  command = shell("trap '' TERM; echo deaf; sleep 600 & wait; sleep 600");
  command.timeout = 50ms;
  CHECK(end_of(command).how == How::kTimedOut);
}

TEST_CASE("descendants end, whatever group and session they are in") {
  const TemporaryFolder folder;
  // The first process is in its own session and ignores SIGTERM. The second process is in its own
  // session, and its parent has exited. The third process starts another process when it gets
  // SIGTERM.
  Command command = shell(
      "setsid sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 600' &\n"
      "setsid sh -c '(setsid sh -c \"echo \\$\\$ >> pids; exec sleep 600\" &) &'\n"
      "sh -c 'trap \"setsid sleep 600 & exit\" TERM; echo $$ >> pids; sleep 600' &\n"
      "while [ ! -e go ]; do sleep 0.01; done");
  command.folder = folder.path();
  SUBCASE("after a timeout or an interruption") {
    command.background = Background::kContinues;
    const auto has_started = [&] { return pids_in(folder).size() == 3; };
    CHECK(end_of(command, has_started).how == How::kInterrupted);
  }
  SUBCASE("when the command exits") {
    const auto let_it_exit = [&] {
      if (pids_in(folder).size() == 3) std::ofstream(folder / "go");
      return false;
    };
    CHECK(end_of(command, let_it_exit).is_success());
  }
  SUBCASE("when the caller is killed") {
    const pid_t caller = ::fork();
    if (caller == 0) {
      (void)run_command(command);
      ::_exit(0);
    }
    while (pids_in(folder).size() < 3) std::this_thread::sleep_for(1ms);
    ::kill(caller, SIGKILL);
    CHECK(wait_for_end(caller) == SIGKILL);
    const auto is_running = [](pid_t pid) { return ::kill(pid, 0) == 0; };
    while (std::ranges::any_of(pids_in(folder), is_running)) std::this_thread::sleep_for(1ms);
  }
  for (const pid_t pid : pids_in(folder)) CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("a program that kills or stops its parent ends with its descendants") {
  const TemporaryFolder folder;
  std::string signal = "kill -9 $PPID";
  auto background = Background::kEnds;
  auto how = How::kKilled;
  SUBCASE("killed") {}
  SUBCASE("killed, although its children may continue") {
    background = Background::kContinues;
  }
  SUBCASE("stopped") {
    signal = "kill -STOP $PPID";
    how = How::kInterrupted;
  }
  SUBCASE("stopped with its own parent") {
    signal = "kill -STOP $(awk '/^PPid/ { print $2 }' /proc/$PPID/status) $PPID";
    how = How::kInterrupted;
  }
  Command command = shell(
      "echo $$ > pids\n"
      "setsid sh -c 'echo $$ >> pids; exec sleep 600' &\n"
      "while [ $(wc -l < pids) != 2 ]; do sleep 0.01; done\n" +
      signal + "\ntouch done; sleep 600");
  command.folder = folder.path();
  command.background = background;
  const auto is_done = [&] {
    return how == How::kInterrupted && std::filesystem::exists(folder / "done");
  };
  CHECK(end_of(command, is_done).how == how);
  CHECK(pids_in(folder).size() == 2);
  for (const pid_t pid : pids_in(folder)) CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("a program that stops its parent immediately is reported as started") {
  // On one processor and with this policy, the program runs before its supervisor continues.
  cpu_set_t all;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  const sched_param none{};
  REQUIRE(::sched_setscheduler(0, SCHED_BATCH, &none) == 0);
  for (int i = 0; i < 3; ++i) {
    const TemporaryFolder folder;
    Command command = shell("kill -STOP $PPID; touch done; sleep 600");
    command.folder = folder.path();
    const auto is_done = [&] { return std::filesystem::exists(folder / "done"); };
    CHECK(end_of(command, is_done).how == How::kInterrupted);
  }
  ::sched_setscheduler(0, SCHED_OTHER, &none);
  ::sched_setaffinity(0, sizeof all, &all);
}

TEST_CASE("a program that delivers in the background can exit before its child") {
  const TemporaryFolder folder;
  Command command = shell("sleep 600 & echo $! > pids");
  command.folder = folder.path();
  command.background = Background::kContinues;
  CHECK(end_of(command).is_success());
  REQUIRE(pids_in(folder).size() == 1);
  CHECK(::kill(pids_in(folder)[0], SIGKILL) == 0);
}

TEST_CASE("a command that is ended by a signal, and one that does not exist, are reported") {
  const CommandEnd killed = end_of(shell("kill -9 $$"));
  CHECK(killed.how == How::kKilled);
  CHECK(killed.in_words() == "signal 9");
  const auto none = run_command({.words = {"/no/such/program"}});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::kNotFound);
}
