#include "reload/previous_generation.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "quarry/base/log.h"

using namespace quarry::master;
using quarry::base::Fd;

namespace {

/// Starts a child that does not handle signals.
pid_t start_child() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGTERM, SIG_DFL);  // doctest has a handler
    ::pause();
    ::_exit(0);
  }
  return pid;
}

/// Sends SIGNAL to a child of the previous generation, which dies of it, and returns the logged
/// lines.
std::string logged_after(int signal) {
  const Fd log(::memfd_create("log", MFD_CLOEXEC));
  const int before = quarry::base::log_descriptor();
  quarry::base::set_log_level(quarry::base::LogLevel::kNotice);
  quarry::base::set_log_descriptor(log.get());
  MasterState state;
  state.generation = 2;
  PreviousChild child{.pid = start_child(), .service = "events www", .generation = 1};
  child.quit_signal = SIGTERM;
  std::vector<PreviousChild> children;
  children.push_back(std::move(child));
  const pid_t pid = children.front().pid;
  PreviousGeneration previous(std::move(children), state);
  if (signal == SIGTERM) {
    previous.ask();
  } else {
    ::kill(pid, signal);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(previous.reap(pid, status));
  quarry::base::set_log_descriptor(before);
  std::array<char, 4096> text{};
  const auto size = ::pread(log.get(), text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

TEST_CASE("a child that ends by its quit signal is not a reason for a warning") {
  CHECK_FALSE(logged_after(SIGTERM).contains("warning"));
  CHECK(logged_after(SIGKILL).contains("warning: [events www] child"));
}

TEST_CASE("the latest children of a service can be taken, unless they were asked to end") {
  MasterState state;
  state.generation = 3;
  std::vector<PreviousChild> children;
  children.push_back({.pid = 1001, .service = "courier", .generation = 1});
  children.push_back({.pid = 1002, .service = "courier", .generation = 2});
  children.push_back({.pid = 1003, .service = "courier", .generation = 2, .asked_at = 1});
  children.push_back({.pid = 1004, .service = "pool www", .generation = 2});
  PreviousGeneration previous(std::move(children), state);
  const auto taken = previous.take_latest("courier");
  REQUIRE(taken.size() == 1);
  CHECK(taken.front().pid == 1002);
  CHECK(previous.count() == 3);
  CHECK(previous.count_of("courier") == 2);
}
