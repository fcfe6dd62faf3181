// A master in a separate process, whose children send messages to the test.
#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "eventually.h"
#include "quarry/base/log.h"
#include "quarry/base/pipe.h"
#include "quarry/master/master.h"
#include "temporary_folder.h"

namespace quarry::master::testing {

using namespace std::chrono_literals;

/// A message from a child to the test. It consists of a letter and the process ID of the child.
struct Word {
  char what;
  pid_t pid;
};

/// Runs a master in a separate process. Its children write Words to a pipe.
class World {
 public:
  World() {
    auto pipe = base::make_pipe();
    REQUIRE(pipe);
    read_ = std::move(pipe->reading);
    write_ = std::move(pipe->writing);
  }
  ~World() {
    if (master_ > 0) ::kill(master_, SIGKILL);
    if (master_ > 0) ::waitpid(master_, nullptr, 0);
  }

  std::string socket() const { return (folder_ / "s").string(); }
  std::string pid_file() const { return (folder_ / "pid").string(); }
  int words() const { return write_.get(); }
  void say(char what) const {
    const Word word{what, ::getpid()};
    [[maybe_unused]] const auto ignored = ::write(write_.get(), &word, sizeof word);
  }

  Service service(std::size_t children, std::function<int(ChildContext&)> run) const {
    Service result;
    result.name = "pool test";
    result.processes.max_children = children;
    result.kept_descriptors = {words()};
    result.run = std::move(run);
    return result;
  }

  void start(std::vector<Service> services, std::chrono::seconds control_timeout = 10s) {
    start([&] { return std::move(services); }, control_timeout);
  }
  /// Starts a master with the services that MAKE returns. MAKE is called in the master's process.
  void start(const std::function<std::vector<Service>()>& make,
             std::chrono::seconds control_timeout = 10s) {
    master_ = ::fork();
    REQUIRE(master_ >= 0);
    if (master_ > 0) {
      write_.reset();
      return;
    }
    quarry::base::set_log_level(quarry::base::LogLevel::kAlert);
    GlobalConfig global;
    global.pid_file = pid_file();
    global.process_control_timeout = control_timeout;
    ::_exit(run_master(global, make()) ? 0 : 1);
  }

  /// Waits for the next word. Its letter is 0 if all processes have closed the pipe.
  Word next() const {
    pollfd wait{read_.get(), POLLIN, 0};
    Word word{};
    REQUIRE(::poll(&wait, 1, kPatience) == 1);
    const ssize_t size = ::read(read_.get(), &word, sizeof word);
    return size == sizeof word ? word : Word{0, 0};
  }
  /// Returns true if no word arrives within MILLISECONDS.
  bool is_silent(int milliseconds) const {
    pollfd wait{read_.get(), POLLIN, 0};
    return ::poll(&wait, 1, milliseconds) == 0;
  }
  pid_t master() const { return master_; }
  void signal_master(int number) const { ::kill(master_, number); }
  /// Sends the signal NUMBER to the master. Returns true if the master exits with code 0.
  bool ends_on(int number) {
    signal_master(number);
    return wait_for_end() == 0;
  }
  /// Waits for the master to end and returns its exit status.
  int wait_for_end() {
    int status = -1;
    REQUIRE(eventually([&] { return ::waitpid(master_, &status, WNOHANG) == master_; }));
    master_ = -1;
    return status;
  }

 private:
  TemporaryFolder folder_;
  base::Fd read_;
  base::Fd write_;
  pid_t master_ = -1;
};

template <typename... Each>
std::vector<Service> services(Each... each) {
  std::vector<Service> all;
  (all.push_back(std::move(each)), ...);
  return all;
}

inline int sleep_for_ever(ChildContext&) {
  for (;;) ::pause();
}

}  // namespace quarry::master::testing
