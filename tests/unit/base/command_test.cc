#include "quarry/base/command.h"

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <string>
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
  REQUIRE(adopt_orphans());
  const TemporaryFolder folder;
  const auto pids = [&] {
    std::vector<pid_t> all;
    std::ifstream file(folder / "pids");
    for (pid_t pid = 0; file >> pid;) all.push_back(pid);
    return all;
  };
  // The first process is in its own session and ignores SIGTERM. The second process is in its own
  // session, and its parent has exited. The third process starts another process when it gets
  // SIGTERM.
  Command command = shell(
      "setsid sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 600' &\n"
      "setsid sh -c '(setsid sh -c \"echo \\$\\$ >> pids; exec sleep 600\" &) &'\n"
      "sh -c 'trap \"setsid sleep 600 & exit\" TERM; echo $$ >> pids; sleep 600' &\n"
      "sleep 600");
  command.folder = folder.path();
  const CommandEnd end = end_of(command, [&] { return pids().size() == 3; });
  CHECK(end.how == How::kInterrupted);
  CHECK(end_descendants());
  for (const pid_t pid : pids()) CHECK(::kill(pid, 0) != 0);
  CHECK(end_descendants());
}

TEST_CASE("a command that is ended by a signal, and one that does not exist, are reported") {
  const CommandEnd killed = end_of(shell("kill -9 $$"));
  CHECK(killed.how == How::kKilled);
  CHECK(killed.in_words() == "signal 9");
  const auto none = run_command({.words = {"/no/such/program"}});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::kNotFound);
}
