#include "quarry/base/spawn.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "quarry/base/fd.h"
#include "quarry/base/pipe.h"
#include "temporary_folder.h"

using namespace quarry::base;

namespace {

/// The standard streams of a program. The input is empty, the output is a pipe, and errors are
/// discarded.
struct Streams {
  Pipe pipe = std::move(*make_pipe());
  Fd nothing{::open("/dev/null", O_RDWR | O_CLOEXEC)};

  std::vector<int> descriptors() const {
    return {nothing.get(), pipe.writing.get(), nothing.get()};
  }
  /// Returns everything that the program has written to the pipe.
  std::string text() {
    pipe.writing.reset();
    std::string text;
    std::array<char, 512> buffer{};
    for (ssize_t size = 0; (size = ::read(pipe.reading.get(), buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return text;
  }
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

TEST_CASE("a program gets its arguments, environment and folder") {
  Streams streams;
  auto launch = script("echo \"$1|$X|$HOME|$PWD\"; exit 7", streams.descriptors());
  launch.folder = "/usr";
  const int status = status_of(spawn(launch));
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(streams.text() == "a b|y z||/usr\n");
}

TEST_CASE("a program gets exactly the given descriptors, whatever their numbers") {
  Streams streams;
  Streams other;
  const Fd inherited(::dup(streams.pipe.reading.get()));  // without FD_CLOEXEC
  Fd third(::fcntl(other.pipe.writing.get(), F_DUPFD_CLOEXEC, 3));
  auto descriptors = streams.descriptors();
  descriptors.push_back(third.get());
  const int status =
      status_of(spawn(script("echo one; echo two >&3; ls /proc/self/fd | wc -l >&3", descriptors)));
  third.reset();
  CHECK(status == 0);
  CHECK(streams.text() == "one\n");
  // The fifth descriptor is the folder that ls reads.
  CHECK(other.text().contains("two\n5\n"));
}

TEST_CASE("a program leads a group, and does not block or ignore signals") {
  Streams streams;
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto ignored = ::signal(SIGPIPE, SIG_IGN);
  const auto pid = spawn(script("kill -TERM 0; sleep 60", streams.descriptors()));
  ::signal(SIGPIPE, ignored);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  const int status = status_of(pid);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("a program that does not exist is an error") {
  const auto pid = spawn({.words = {"/no/such/program"}});
  REQUIRE_FALSE(pid);
  CHECK(pid.error().code == ErrorCode::kNotFound);
  CHECK(pid.error().message.contains("/no/such/program"));
}

TEST_CASE("a program may stay in the caller's group and folder, and have another name") {
  Streams streams;
  const int status =
      status_of(spawn({.words = {"name", "-c", "echo $0 $PWD; cut -d' ' -f5 /proc/$$/stat"},
                       .program = "/bin/sh",
                       .descriptors = streams.descriptors(),
                       .folder = {},
                       .has_own_group = false}));
  CHECK(status == 0);
  std::istringstream said(streams.text());
  std::string name;
  std::string folder;
  pid_t group = 0;
  said >> name >> folder >> group;
  CHECK(name == "name");
  CHECK(folder == std::filesystem::current_path());
  CHECK(group == ::getpgrp());
}

TEST_CASE("work in a child has no effect except for the text that it returns") {
  int number = 1;
  const auto text = run_in_child([&] {
    number = 2;
    return std::string(200'000, 'x');
  });
  REQUIRE(text);
  CHECK((*text == std::string(200'000, 'x')));
  CHECK(number == 1);
  CHECK_FALSE(run_in_child([]() -> std::string { throw std::runtime_error("no"); }));
  CHECK_FALSE(run_in_child([]() -> std::string { ::_exit(3); }));
}

TEST_CASE("children are waited for even if SIGCHLD was ignored") {
  ::signal(SIGCHLD, SIG_IGN);
  const auto text = run_in_child([] { return std::string("text"); });
  REQUIRE(text);
  CHECK(*text == "text");
  ::signal(SIGCHLD, SIG_IGN);
  const auto pid = spawn({.words = {"true"}});
  REQUIRE(pid);
  CHECK(wait_for_end(*pid) == 0);
}

TEST_CASE("a program is found in the absolute folders of PATH") {
  const TemporaryFolder folder;
  const auto make = [&](const char* name, std::filesystem::perms rights) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name).put('x');
    std::filesystem::permissions(folder / name, rights);
  };
  make("one/tool", std::filesystem::perms::owner_read);  // not executable
  make("two/tool", std::filesystem::perms::owner_all);
  std::filesystem::create_directory(folder / "one" / "place");
  const std::string before = search_path();
  const std::string tool = (folder / "two" / "tool").string();
  const std::string path = (folder / "one").string() + "::relative:" + (folder / "two").string();
  ::setenv("PATH", path.c_str(), 1);
  CHECK(find_program("tool") == tool);
  CHECK(find_program("place").empty());
  CHECK(find_program("no-such-tool").empty());
  CHECK(find_program("").empty());
  CHECK(find_program(tool) == tool);
  CHECK(find_program((folder / "one" / "tool").string()).empty());
  ::setenv("PATH", before.c_str(), 1);
}
