#include "quarry/base/spawn.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "quarry/base/fd.h"

using namespace quarry::base;

namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    from.reset(ends[0]);
    to.reset(ends[1]);
  }
  std::string text() {
    to.reset();
    std::string text;
    std::array<char, 512> buffer{};
    for (ssize_t size = 0; (size = ::read(from.get(), buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return text;
  }
  Fd from;
  Fd to;
};

int status_of(const Result<pid_t>& pid) {
  REQUIRE(pid);
  int status = 0;
  REQUIRE(::waitpid(*pid, &status, 0) == *pid);
  return status;
}

Launch script(const std::string& text, std::vector<int> descriptors) {
  return {.words = {"sh", "-c", text, "sh", "a b"},
          .environment = {"X=y z"},
          .descriptors = std::move(descriptors)};
}

}  // namespace

TEST_CASE("a program has its words, its environment and its folder") {
  Pipe pipe;
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto launch =
      script("echo \"$1|$X|$HOME|$PWD\"; exit 7", {null.get(), pipe.to.get(), null.get()});
  launch.folder = "/usr";
  const int status = status_of(spawn(launch));
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(pipe.text() == "a b|y z||/usr\n");
}

TEST_CASE("a program has the descriptors that it is given, whatever their numbers, and no other") {
  Pipe pipe;
  Pipe other;
  const Fd inherited(::dup(pipe.from.get()));  // without FD_CLOEXEC
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  // Where it wants them, they are the other way round.
  Fd third(::fcntl(other.to.get(), F_DUPFD_CLOEXEC, 3));
  const int status = status_of(spawn(script("echo one; echo two >&3; ls /proc/self/fd | wc -l >&3",
                                            {null.get(), pipe.to.get(), null.get(), third.get()})));
  third.reset();
  CHECK(status == 0);
  CHECK(pipe.text() == "one\n");
  // ls has the folder open.
  CHECK(other.text().find("two\n5\n") != std::string::npos);
}

TEST_CASE("a program leads a group, and has no signal blocked or ignored") {
  Pipe pipe;
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto ignored = ::signal(SIGPIPE, SIG_IGN);
  const auto pid = spawn(script("kill -TERM 0; sleep 60", {null.get(), pipe.to.get(), null.get()}));
  ::signal(SIGPIPE, ignored);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  const int status = status_of(pid);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("a program that is not there") {
  const auto pid = spawn({.words = {"/no/such/program"}});
  REQUIRE_FALSE(pid);
  CHECK(pid.error().code == ErrorCode::kNotFound);
  CHECK(pid.error().message.find("/no/such/program") != std::string::npos);
}
