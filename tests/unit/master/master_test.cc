#include "quarry/master/master.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <csignal>

#include <cstring>
#include <fstream>
#include <string>

#include "quarry/scoreboard/login_limiter.h"
#include "world.h"

using namespace quarry::master;
using namespace quarry::master::testing;
using namespace std::chrono_literals;
using quarry::base::Fd;

TEST_CASE("children are started, replaced when they die, and ended on SIGTERM") {
  World world;
  world.start([&] {
    std::vector<Service> services;
    services.push_back(world.service(2, [&](ChildContext& child) {
      world.say('a');
      return sleep_for_ever(child);
    }));
    return services;
  });
  const Word first = world.next();
  const Word second = world.next();
  CHECK(first.pid != second.pid);
  CHECK(std::filesystem::exists(world.pid_file()));
  REQUIRE(::kill(first.pid, SIGKILL) == 0);
  const Word third = world.next();
  CHECK(third.what == 'a');
  CHECK(third.pid != second.pid);
  world.signal_master(SIGTERM);
  CHECK(world.wait_for_end() == 0);
  CHECK(world.next().what == 0);  // nobody holds the pipe any more
  CHECK_FALSE(std::filesystem::exists(world.pid_file()));
}

TEST_CASE("a graceful stop lets the fronts end before it asks the pools") {
  World world;
  const auto run = [&](char begins, char ends) {
    return [&world, begins, ends](ChildContext&) {
      sigset_t quit;
      ::sigemptyset(&quit);
      ::sigaddset(&quit, SIGQUIT);
      ::sigprocmask(SIG_BLOCK, &quit, nullptr);
      world.say(begins);
      // The front lingers: a pool that was asked too early would have ended before it.
      const timespec lingering{0, 50'000'000};
      ::sigwaitinfo(&quit, nullptr);
      if (ends == 'F') ::sigtimedwait(&quit, nullptr, &lingering);
      world.say(ends);
      return 0;
    };
  };
  world.start([&] {
    std::vector<Service> services;
    services.push_back(world.service(1, run('p', 'P')));
    services.push_back(world.service(1, run('f', 'F')));
    services.back().kind = ServiceKind::kFront;
    return services;
  });
  world.next();
  world.next();
  world.signal_master(SIGQUIT);
  CHECK(world.next().what == 'F');
  CHECK(world.next().what == 'P');
  CHECK(world.wait_for_end() == 0);
}

TEST_CASE("a graceful stop has a timeout, after which children are terminated") {
  World world;
  world.start(
      [&] {
        std::vector<Service> services;
        services.push_back(world.service(1, [&](ChildContext& child) {
          ::signal(SIGQUIT, SIG_IGN);
          world.say('a');
          return sleep_for_ever(child);
        }));
        return services;
      },
      1s);
  world.next();
  world.signal_master(SIGQUIT);
  CHECK(world.wait_for_end() == 0);
  CHECK(world.next().what == 0);
}

TEST_CASE("a child asked to reopen its logs too early gets the signal once it has a handler") {
  World world;
  static volatile sig_atomic_t told = 0;
  world.start([&] {
    std::vector<Service> services;
    services.push_back(world.service(1, [&](ChildContext& child) {
      ::kill(::getpid(), SIGUSR1);
      ::signal(SIGUSR1, [](int) { told = 1; });
      quarry::base::unblock_reopen_signal();
      world.say(told != 0 ? 't' : 'm');
      return sleep_for_ever(child);
    }));
    return services;
  });
  CHECK(world.next().what == 't');
}

TEST_CASE("children do not outlive a master that is killed") {
  World world;
  world.start([&] {
    std::vector<Service> services;
    services.push_back(world.service(3, [&](ChildContext& child) {
      world.say('a');
      return sleep_for_ever(child);
    }));
    return services;
  });
  for (int i = 0; i < 3; ++i) CHECK(world.next().what == 'a');
  world.signal_master(SIGKILL);
  CHECK(world.next().what == 0);
}

TEST_CASE("a child holds its own listener, board and channel, and no other service's") {
  World world;
  world.start([&] {
    std::vector<Service> services;
    auto listener = Listener::open(*quarry::base::SocketAddress::parse(world.socket()));
    services.push_back(world.service(1, [&](ChildContext& child) {
      child.slot.accepting();
      const bool has_listener = ::fcntl(child.listener, F_GETFD) >= 0;
      const bool sees_slot =
          child.board->read(child.index).state.pid == static_cast<std::uint32_t>(::getpid());
      child.control->send({quarry::control::Verb::kBackoffice, 17});
      world.say(has_listener && sees_slot ? 'y' : 'n');
      return sleep_for_ever(child);
    }));
    services.back().listener = std::move(*listener);
    const int fd = services.back().listener.fd();
    services.back().on_message = [&](const quarry::control::Message& message) {
      world.say(message.number == 17 ? 'm' : 'n');
    };
    services.push_back(world.service(1, [&world, fd](ChildContext& child) {
      world.say(::fcntl(fd, F_GETFD) < 0 && child.listener == -1 ? 'y' : 'n');
      return sleep_for_ever(child);
    }));
    return services;
  });
  int yes = 0;
  int messages = 0;
  for (int i = 0; i < 3; ++i) {
    const char what = world.next().what;
    yes += what == 'y' ? 1 : 0;
    messages += what == 'm' ? 1 : 0;
  }
  CHECK(yes == 2);
  CHECK(messages == 1);
  CHECK(std::filesystem::exists(world.socket()));
  world.signal_master(SIGTERM);
  CHECK(world.wait_for_end() == 0);
  CHECK_FALSE(std::filesystem::exists(world.socket()));
}

TEST_CASE("a child that observes another service reads its board") {
  World world;
  world.start([&] {
    std::vector<Service> services;
    services.push_back(world.service(2, [&](ChildContext& child) {
      child.slot.accepting();
      return sleep_for_ever(child);
    }));
    services.push_back(world.service(1, [&world](ChildContext& child) {
      const auto is_there = [&](std::size_t i) {
        return child.observed->read(i).state.stage == quarry::scoreboard::Stage::kAccepting;
      };
      const bool is_seen = eventually([&] {
        return is_there(0) && is_there(1) && child.observed->read_pool().state.children == 2;
      });
      world.say(is_seen ? 'y' : 'n');
      return sleep_for_ever(child);
    }));
    services.back().name = "status test";
    services.back().observes = "pool test";
    return services;
  });
  CHECK(world.next().what == 'y');
  world.signal_master(SIGTERM);
  CHECK(world.wait_for_end() == 0);
}

TEST_CASE("what a child writes to the board that it observes is visible to the board's owner") {
  World world;
  world.start([&] {
    std::vector<Service> services;
    const auto word = [](const quarry::scoreboard::Board& board) -> auto& {
      return board.logins().salt[0];
    };
    services.push_back(world.service(1, [&world, word](ChildContext& child) {
      world.say(eventually([&] { return word(*child.board) == 42; }) ? 'y' : 'n');
      return sleep_for_ever(child);
    }));
    services.push_back(world.service(1, [word](ChildContext& child) {
      word(*child.observed) = 42;
      return sleep_for_ever(child);
    }));
    services.back().name = "pages test";
    services.back().observes = "pool test";
    services.back().writes_observed = true;
    return services;
  });
  CHECK(world.next().what == 'y');
  world.signal_master(SIGTERM);
  CHECK(world.wait_for_end() == 0);
}

TEST_CASE("a child that sends garbage to the master only loses its channel") {
  World world;
  world.start([&] {
    std::vector<Service> services;
    services.push_back(world.service(1, [&](ChildContext& child) {
      [[maybe_unused]] const auto ignored = ::write(child.control->fd(), "garbage!", 8);
      pollfd wait{child.control->fd(), POLLIN, 0};
      ::poll(&wait, 1, kPatience);
      quarry::control::Message message{};
      const bool is_closed = child.control->receive(&message) == quarry::control::Received::kClosed;
      world.say(is_closed ? 'y' : 'n');
      return sleep_for_ever(child);
    }));
    return services;
  });
  CHECK(world.next().what == 'y');
  world.signal_master(SIGTERM);
  CHECK(world.wait_for_end() == 0);
}

TEST_CASE("a crash loop neither spins nor ends the master") {
  World world;
  world.start([&] {
    std::vector<Service> services;
    services.push_back(world.service(1, [&](ChildContext&) {
      world.say('x');
      return 1;
    }));
    return services;
  });
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 8; ++i) CHECK(world.next().what == 'x');
  // Four are forgiven; the others waited 50, 100 and 200 ms.
  CHECK(std::chrono::steady_clock::now() - begin >= 350ms);
  world.signal_master(SIGTERM);
  CHECK(world.wait_for_end() == 0);
}

TEST_CASE("a first start fails if a program cannot be executed") {
  World world;
  world.start([&] {
    std::vector<Service> services;
    services.push_back(world.service(1, {}));
    services.back().program = Program{"/nowhere/program", {"program"}};
    return services;
  });
  CHECK(WEXITSTATUS(world.wait_for_end()) == 1);
}

TEST_CASE("a service gains privileges from what it executes only if configured") {
  World world;
  world.start([&] {
    const auto run = [&](ChildContext& child) {
      world.say(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 'n' : 'y');
      return sleep_for_ever(child);
    };
    std::vector<Service> services;
    services.push_back(world.service(1, run));
    services.push_back(world.service(1, run));
    services.back().process.no_new_privs = false;
    return services;
  });
  // The test itself may be forbidden to.
  const bool is_free = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
  const std::string said{world.next().what, world.next().what};
  CHECK(said.find('n') != std::string::npos);
  CHECK((said.find('y') != std::string::npos) == is_free);
  world.signal_master(SIGTERM);
  CHECK(world.wait_for_end() == 0);
}

TEST_CASE("a program runs with the privileges of its service, and without a slot") {
  World world;
  const auto told = [&](const std::string& name) { return world.socket() + "." + name; };
  world.start([&] {
    std::vector<Service> services;
    for (const std::string name : {"less", "more"}) {
      services.push_back(world.service(1, {}));
      services.back().name = "program " + name;
      services.back().process.no_new_privs = name == "less";
      services.back().program =
          Program{"/bin/sh",
                  {"sh", "-c",
                   "while read -r key value; do [ $key = NoNewPrivs: ] && echo $value >\"$0\".new; "
                   "done </proc/self/status; mv \"$0\".new \"$0\"; exec sleep 60",
                   told(name)}};
      services.push_back(world.service(1, [&world](ChildContext& child) {
        const auto is_seen = [&] { return child.observed->read_pool().state.children == 1; };
        world.say(eventually(is_seen) && child.observed->slot_count() == 0 ? 'y' : 'n');
        return sleep_for_ever(child);
      }));
      services.back().name = "status " + name;
      services.back().observes = "program " + name;
    }
    return services;
  });
  CHECK(world.next().what == 'y');
  CHECK(world.next().what == 'y');
  const auto flag_of = [&](const std::string& name) {
    REQUIRE(eventually([&] { return std::filesystem::exists(told(name)); }));
    std::string flag;
    std::getline(std::ifstream(told(name)), flag);
    return flag;
  };
  CHECK(flag_of("less") == "1");
  // The test itself may be forbidden to.
  CHECK(flag_of("more") == std::to_string(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)));
  world.signal_master(SIGTERM);
  CHECK(world.wait_for_end() == 0);
}

TEST_CASE("a request that exceeds its timeout ends its child") {
  World world;
  world.start([&] {
    std::vector<Service> services;
    services.push_back(world.service(1, [&](ChildContext& child) {
      child.slot.accepted();
      world.say('a');
      return sleep_for_ever(child);
    }));
    services.back().request_terminate_timeout = 200ms;
    return services;
  });
  const pid_t first = world.next().pid;
  CHECK(world.next().pid != first);
  world.signal_master(SIGTERM);
  CHECK(world.wait_for_end() == 0);
}

namespace {

/// From now on this process, which becomes somebody else, cannot make another.
void forbid_processes(const World& world) {
  std::filesystem::permissions(std::filesystem::path(world.socket()).parent_path(),
                               std::filesystem::perms::all);
  const rlimit none{0, 0};
  REQUIRE(::setrlimit(RLIMIT_NPROC, &none) == 0);
  REQUIRE(::setuid(65534) == 0);
}

}  // namespace

TEST_CASE("a start whose first child cannot be created fails immediately, without being ready") {
  if (::geteuid() != 0) return;  // needs another user, whose number of processes is bounded
  World world;
  const Fd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto address = quarry::base::SocketAddress::parse(world.socket());
  REQUIRE(::bind(manager.get(), address->get(), address->size()) == 0);
  world.start([&] {
    ::chmod(world.socket().c_str(), 0666);
    ::setenv("NOTIFY_SOCKET", world.socket().c_str(), 1);
    forbid_processes(world);
    std::vector<Service> services;
    services.push_back(world.service(1, sleep_for_ever));
    return services;
  });
  const int status = world.wait_for_end();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK_FALSE(std::filesystem::exists(world.pid_file()));
  std::array<char, 1024> text{};
  for (;;) {
    const ssize_t size = ::recv(manager.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (size < 0) break;
    CHECK(std::string(text.data(), static_cast<std::size_t>(size)).find("READY") ==
          std::string::npos);
  }
}
