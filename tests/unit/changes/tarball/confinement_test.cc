#include "tarball/confinement.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <new>

#include "made_tarball.h"

using namespace quarry::changes;

namespace {

/// Runs BODY in a confined child process and returns its status.
int status_of(const std::function<void()>& body, const Confinement& bounds = {}) {
  const auto kept = file_of("text");
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!confine(std::array{kept.get()}, bounds)) ::_exit(9);
    std::array<char, 4> bytes{};
    if (::pread(kept.get(), bytes.data(), bytes.size(), 0) != 4) ::_exit(8);
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

}  // namespace

TEST_CASE("a confined child reads its files, and has no others open") {
  const auto other = file_of("secret");
  const int status = status_of([fd = other.get()] {
    char byte = 0;
    if (::pread(fd, &byte, 1, 0) >= 0) ::_exit(7);
  });
  CHECK(status == 0);
}

TEST_CASE("a confined child ends at any other system call" * doctest::skip(kIsSanitized)) {
  const auto is_killed = [](const std::function<void()>& body) {
    const int status = status_of(body);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
  };
  CHECK(is_killed([] { (void)::open("/etc/passwd", O_RDONLY); }));
  CHECK(is_killed([] { (void)::socket(AF_INET, SOCK_STREAM, 0); }));
  CHECK(is_killed([] { (void)::fork(); }));
  CHECK(is_killed([] { ::kill(::getppid(), 0); }));
  CHECK(is_killed([] { ::unlink("/tmp/quarry-no-such-file"); }));
}

TEST_CASE("a confined child has limited memory" * doctest::skip(kIsSanitized)) {
  const int status = status_of(
      [] {
        void* memory = ::operator new (std::size_t{256} << 20, std::nothrow);
        if (memory != nullptr) ::_exit(7);
      },
      {.memory = std::size_t{64} << 20});
  CHECK(status == 0);
}

TEST_CASE("a confined child has limited CPU time") {
  const int status = status_of(
      [] {
        const volatile bool is_over = false;
        while (!is_over) {
        }
      },
      {.processor_time = std::chrono::seconds(1)});
  CHECK(WIFSIGNALED(status));
  CHECK((WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL));
}
