#include "quarry/master/master.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <csignal>

#include <algorithm>
#include <array>
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
  world.start(services(world.service(2, [&](ChildContext& child) {
    world.say('a');
    return sleep_for_ever(child);
  })));
  const Word first = world.next();
  const Word second = world.next();
  CHECK(first.pid != second.pid);
  CHECK(std::filesystem::exists(world.pid_file()));
  REQUIRE(::kill(first.pid, SIGKILL) == 0);
  const Word third = world.next();
  CHECK(third.what == 'a');
  CHECK(third.pid != second.pid);
  CHECK(world.ends_on(SIGTERM));
  CHECK(world.next().what == 0);  // all processes have closed the pipe
  CHECK_FALSE(std::filesystem::exists(world.pid_file()));
}

TEST_CASE("a signal to reopen the logs waits for the child's handler, and never ends the child") {
  World world;
  world.start(services(world.service(1, [&](ChildContext& child) {
    struct sigaction before {};
    ::sigaction(SIGUSR1, nullptr, &before);
    ::raise(SIGUSR1);
    sigset_t pending;
    ::sigpending(&pending);
    const bool is_kept = ::sigismember(&pending, SIGUSR1) == 1;
    // SIGUSR1 must have a handler, because SIG_IGN would discard a signal that arrives before the
    // child calls its function.
    const bool has_handler = before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL;
    world.say(is_kept && has_handler ? 'y' : 'n');
    return sleep_for_ever(child);
  })));
  CHECK(world.next().what == 'y');
  CHECK(world.ends_on(SIGTERM));
}

TEST_CASE("a child holds its own listener, board and channel, and no other service's") {
  World world;
  world.start([&] {
    auto listener = Listener::open(*quarry::base::SocketAddress::parse(world.socket()));
    const int fd = listener->fd();
    Service own = world.service(1, [&](ChildContext& child) {
      child.slot.accepting();
      const bool has_listener = ::fcntl(child.listener, F_GETFD) >= 0;
      const bool sees_slot =
          child.board->read(child.index).state.pid == static_cast<std::uint32_t>(::getpid());
      child.control->send({quarry::control::Verb::kBackoffice, 17});
      world.say(has_listener && sees_slot ? 'y' : 'n');
      return sleep_for_ever(child);
    });
    own.listener = std::move(*listener);
    own.on_message = [&](std::uint32_t, const quarry::control::Message& message) {
      world.say(message.number == 17 ? 'm' : 'n');
    };
    return services(std::move(own), world.service(1, [&world, fd](ChildContext& child) {
      world.say(::fcntl(fd, F_GETFD) < 0 && child.listener == -1 ? 'y' : 'n');
      return sleep_for_ever(child);
    }));
  });
  std::string said{world.next().what, world.next().what, world.next().what};
  std::ranges::sort(said);
  CHECK(said == "myy");
  CHECK(std::filesystem::exists(world.socket()));
  CHECK(world.ends_on(SIGTERM));
  CHECK_FALSE(std::filesystem::exists(world.socket()));
}

TEST_CASE("a child that observes another service reads its board") {
  World world;
  Service observer = world.service(1, [&world](ChildContext& child) {
    const auto is_there = [&](std::size_t i) {
      return child.observed->read(i).state.stage == quarry::scoreboard::Stage::kAccepting;
    };
    const bool is_seen = eventually([&] {
      return is_there(0) && is_there(1) && child.observed->read_pool().state.children == 2;
    });
    world.say(is_seen ? 'y' : 'n');
    return sleep_for_ever(child);
  });
  observer.name = "status test";
  observer.observes = "pool test";
  world.start(services(world.service(2,
                                     [&](ChildContext& child) {
                                       child.slot.accepting();
                                       return sleep_for_ever(child);
                                     }),
                       std::move(observer)));
  CHECK(world.next().what == 'y');
  CHECK(world.ends_on(SIGTERM));
}

TEST_CASE("a child's writes to the board that it observes are visible to the board's owner") {
  World world;
  const auto word = [](const quarry::scoreboard::Board& board) -> auto& {
    return board.logins().salt[0];
  };
  Service writer = world.service(1, [word](ChildContext& child) {
    word(*child.observed) = 42;
    return sleep_for_ever(child);
  });
  writer.name = "pages test";
  writer.observes = "pool test";
  writer.writes_observed = true;
  world.start(services(world.service(1,
                                     [&world, word](ChildContext& child) {
                                       const auto is_seen = [&] {
                                         return word(*child.board) == 42;
                                       };
                                       world.say(eventually(is_seen) ? 'y' : 'n');
                                       return sleep_for_ever(child);
                                     }),
                       std::move(writer)));
  CHECK(world.next().what == 'y');
  CHECK(world.ends_on(SIGTERM));
}

TEST_CASE("a child that sends garbage to the master only loses its channel") {
  World world;
  world.start(services(world.service(1, [&](ChildContext& child) {
    [[maybe_unused]] const auto ignored = ::write(child.control->fd(), "garbage!", 8);
    pollfd wait{child.control->fd(), POLLIN, 0};
    ::poll(&wait, 1, kPatience);
    quarry::control::Message message{};
    const bool is_closed = child.control->receive(&message) == quarry::control::Received::kClosed;
    world.say(is_closed ? 'y' : 'n');
    return sleep_for_ever(child);
  })));
  CHECK(world.next().what == 'y');
  CHECK(world.ends_on(SIGTERM));
}

TEST_CASE("a first start fails if a program cannot be executed") {
  World world;
  Service service = world.service(1, {});
  service.program = Program{"/nowhere/program", {"program"}};
  world.start(services(std::move(service)));
  CHECK(WEXITSTATUS(world.wait_for_end()) == 1);
}

TEST_CASE("a service gains privileges from a program only if configured") {
  World world;
  const auto run = [&](ChildContext& child) {
    world.say(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 'n' : 'y');
    return sleep_for_ever(child);
  };
  Service privileged = world.service(1, run);
  privileged.process.no_new_privs = false;
  world.start(services(world.service(1, run), std::move(privileged)));
  // The test process itself might run with no_new_privs, which its children inherit.
  const bool is_free = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
  const std::string said{world.next().what, world.next().what};
  CHECK(said.contains('n'));
  CHECK(said.contains('y') == is_free);
  CHECK(world.ends_on(SIGTERM));
}

TEST_CASE("a program runs with the privileges of its service, and without a slot") {
  World world;
  const auto file_of = [&](const std::string& name) { return world.socket() + "." + name; };
  std::vector<Service> all;
  for (const std::string name : {"less", "more"}) {
    all.push_back(world.service(1, {}));
    all.back().name = "program " + name;
    all.back().process.no_new_privs = name == "less";
    all.back().program =
        Program{"/bin/sh",
                {"sh", "-c",
                 "while read -r key value; do [ $key = NoNewPrivs: ] && echo $value >\"$0\".new; "
                 "done </proc/self/status; mv \"$0\".new \"$0\"; exec sleep 60",
                 file_of(name)}};
    all.push_back(world.service(1, [&world](ChildContext& child) {
      const auto is_seen = [&] { return child.observed->read_pool().state.children == 1; };
      world.say(eventually(is_seen) && child.observed->slot_count() == 0 ? 'y' : 'n');
      return sleep_for_ever(child);
    }));
    all.back().name = "status " + name;
    all.back().observes = "program " + name;
  }
  world.start(std::move(all));
  CHECK(world.next().what == 'y');
  CHECK(world.next().what == 'y');
  const auto flag_of = [&](const std::string& name) {
    REQUIRE(eventually([&] { return std::filesystem::exists(file_of(name)); }));
    std::string flag;
    std::getline(std::ifstream(file_of(name)), flag);
    return flag;
  };
  CHECK(flag_of("less") == "1");
  // The test process itself might run with no_new_privs, which its children inherit.
  CHECK(flag_of("more") == std::to_string(::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)));
  CHECK(world.ends_on(SIGTERM));
}

TEST_CASE("a start whose first child cannot be created fails immediately, without being ready") {
  if (::geteuid() != 0) return;  // the test limits the number of processes of another user
  World world;
  const Fd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto address = quarry::base::SocketAddress::parse(world.socket());
  REQUIRE(::bind(manager.get(), address->get(), address->size()) == 0);
  world.start([&] {
    ::chmod(world.socket().c_str(), 0666);
    ::setenv("NOTIFY_SOCKET", world.socket().c_str(), 1);
    std::filesystem::permissions(std::filesystem::path(world.socket()).parent_path(),
                                 std::filesystem::perms::all);
    const rlimit none{0, 0};
    REQUIRE(::setrlimit(RLIMIT_NPROC, &none) == 0);
    REQUIRE(::setuid(65534) == 0);
    return services(world.service(1, sleep_for_ever));
  });
  const int status = world.wait_for_end();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK_FALSE(std::filesystem::exists(world.pid_file()));
  std::array<char, 1024> text{};
  for (;;) {
    const ssize_t size = ::recv(manager.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (size < 0) break;
    CHECK_FALSE(std::string_view(text.data(), static_cast<std::size_t>(size)).contains("READY"));
  }
}
