// Tests race conditions of an ondemand pool. The children wait at critical steps.
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <fstream>
#include <sstream>

#include "connect_to.h"
#include "eventually.h"
#include "world.h"

using namespace quarry::master;
using namespace quarry::master::testing;
using quarry::base::Fd;
using quarry::base::SocketAddress;

namespace {

/// Calls accept() as an idle worker does, and notifies the master. Returns false if no connection
/// was waiting.
bool accept_while_idle(ChildContext& child, Fd* connection) {
  connection->reset(::accept4(child.listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (*connection) child.slot.accepted();
  const pid_t pid = ::getpid();
  [[maybe_unused]] const auto ignored = ::write(child.child_accept, &pid, sizeof pid);
  return static_cast<bool>(*connection);
}

/// Marks the worker as idle and calls accept_while_idle().
bool accept_one(ChildContext& child, Fd* connection) {
  child.slot.accepting();
  return accept_while_idle(child, connection);
}

/// Calls accept_one() until it returns a connection.
void await_one(ChildContext& child, Fd* connection) {
  while (!accept_one(child, connection)) {
    pollfd wait{child.listener, POLLIN, 0};
    ::poll(&wait, 1, -1);
  }
}

/// Starts an ondemand pool whose children call RUN.
void start(World& world, std::size_t max_children, const std::function<int(ChildContext&)>& run,
           std::chrono::seconds idle_timeout = 60s) {
  world.start([&] {
    Service service = world.service(max_children, run);
    service.processes.manager = ProcessManager::kOndemand;
    service.processes.process_idle_timeout = idle_timeout;
    auto listener = Listener::open(*SocketAddress::parse(world.socket()));
    REQUIRE(listener);
    service.listener = std::move(*listener);
    return services(std::move(service));
  });
}

Fd connect(const World& world) {
  const auto address = SocketAddress::parse(world.socket());
  Fd connection;
  REQUIRE(eventually([&] {
    if (auto connected = connect_to(*address)) connection = std::move(*connected);
    return static_cast<bool>(connection);
  }));
  return connection;
}

/// Returns the processor time of the process PID in clock ticks.
long ticks_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  std::istringstream fields(text.str().substr(text.str().rfind(')') + 2));
  std::string word;
  for (int i = 0; i < 11; ++i) fields >> word;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return user + system;
}

/// A semaphore in shared memory. One child waits for it, and another child signals it.
class Signal {
 public:
  Signal() {
    void* memory =
        ::mmap(nullptr, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    semaphore_ = static_cast<sem_t*>(memory);
    ::sem_init(semaphore_, 1, 0);
  }
  ~Signal() { ::munmap(semaphore_, sizeof(sem_t)); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  void give() const { ::sem_post(semaphore_); }
  void await() const { ::sem_wait(semaphore_); }

 private:
  sem_t* semaphore_ = nullptr;
};

}  // namespace

TEST_CASE("a child is started for each connection, and none without") {
  World world;
  start(world, 5, [&](ChildContext& child) {
    Fd connection;
    world.say(accept_one(child, &connection) ? 'g' : 'n');
    return sleep_for_ever(child);
  });
  const Fd connection = connect(world);
  CHECK(world.next().what == 'g');
  CHECK(world.is_silent(300));
}

TEST_CASE("while a child is about to call accept(), no other is started and the master is idle") {
  World world;
  start(world, 5, [&](ChildContext& child) {
    world.say('s');
    return sleep_for_ever(child);  // accepting() is never called
  });
  const Fd connection = connect(world);
  CHECK(world.next().what == 's');
  const long before = ticks_of(world.master());
  // If the child does not call accept(), the master polls the socket again after one second.
  CHECK(world.is_silent(700));
  CHECK(ticks_of(world.master()) - before <= 2);
}

TEST_CASE("a child stuck before accept() does not block the connection") {
  World world;
  start(world, 2, [&](ChildContext& child) {
    if (child.index == 0) {
      world.say('s');
      return sleep_for_ever(child);
    }
    Fd connection;
    world.say(accept_one(child, &connection) ? 'g' : 'n');
    return sleep_for_ever(child);
  });
  const Fd connection = connect(world);
  CHECK(world.next().what == 's');
  CHECK(world.next().what == 'g');
}

TEST_CASE("a first accept() without a connection also makes the master watch the socket") {
  World world;
  const Signal sibling_is_here;
  const Signal connection_is_taken;
  start(world, 5, [&](ChildContext& child) {
    if (child.index == 1) {
      sibling_is_here.give();
      connection_is_taken.await();
      Fd connection;
      world.say(accept_one(child, &connection) ? 'g' : 'n');
      // The child reports that accept() has returned, and then never calls accept() again.
      child.slot.accepted();
      return sleep_for_ever(child);
    }
    Fd first;
    await_one(child, &first);
    world.say('g');
    if (child.index > 0) return sleep_for_ever(child);
    // The master has started the sibling for the second connection, but this child accepts that
    // connection.
    sibling_is_here.await();
    Fd second(::accept4(child.listener, nullptr, nullptr, SOCK_CLOEXEC));
    world.say('g');
    connection_is_taken.give();
    return sleep_for_ever(child);
  });
  const Fd first = connect(world);
  CHECK(world.next().what == 'g');
  const Fd second = connect(world);
  CHECK(world.next().what == 'g');
  CHECK(world.next().what == 'n');
  const Fd third = connect(world);
  CHECK(world.next().what == 'g');
}

TEST_CASE("a child that ends before accept() is replaced") {
  World world;
  start(world, 5, [&](ChildContext& child) -> int {
    world.say('s');
    static_cast<void>(child);
    return 0;
  });
  const Fd connection = connect(world);
  for (int i = 0; i < 3; ++i) CHECK(world.next().what == 's');
}

TEST_CASE("an idle child takes the next connection, and no other is started") {
  World world;
  start(world, 5, [&](ChildContext& child) {
    for (;;) {
      Fd connection;
      bool is_accepted = accept_one(child, &connection);
      while (!is_accepted) {
        world.say('i');
        pollfd wait{child.listener, POLLIN, 0};
        ::poll(&wait, 1, -1);
        is_accepted = accept_while_idle(child, &connection);
      }
      world.say('g');
    }
    return 0;
  });
  pid_t pid = 0;
  for (int i = 0; i < 20; ++i) {
    const Fd connection = connect(world);
    const Word word = world.next();
    CHECK(word.what == 'g');
    if (pid == 0) pid = word.pid;
    CHECK(word.pid == pid);
    CHECK(world.next().what == 'i');
  }
}
