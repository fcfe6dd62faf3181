#include "site/site.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include "eventually.h"
#include "held_clock.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"
#include "quarry/base/socket.h"
#include "quarry/repository/repository.h"
#include "world.h"

using namespace quarry::worker;
using worker_test::World;

namespace {

constexpr std::string_view kSync = "application/x-fossil-debug";

/// A body in memory.
class Body : public BodyReader {
 public:
  explicit Body(std::string bytes) : bytes_(std::move(bytes)) {}
  quarry::base::Result<std::string> read(std::size_t) override {
    was_read_ = true;
    return bytes_;
  }
  quarry::base::Result<void> read_into(const BodySink& sink, std::size_t) override {
    was_read_ = true;
    return sink(bytes_);
  }
  bool was_read() const { return was_read_; }

 private:
  std::string bytes_;
  bool was_read_ = false;
};

/// A pool whose site the test calls directly, without FastCGI.
class Asker {
 public:
  explicit Asker(WorkerOptions options)
      : options_(std::move(options)),
        board_(*quarry::scoreboard::Board::create("test", 1)),
        slot_(board_.slot(0)),
        channel_(*quarry::control::Channel::make_pair()),
        site_(options_, board_, {}, channel_.second) {}

  Reply ask(const Request& request, std::string body = "") {
    Body reader(std::move(body));
    const Reply reply = site_.answer(request, reader, slot_);
    body_was_read_ = reader.was_read();
    return reply;
  }
  Reply get(std::string_view path) {
    return ask({.method = "GET", .path_info = path, .host = "example.org"});
  }
  /// Sends a sync request with an empty body.
  Reply sync(std::string_view path) {
    return ask({.method = "POST",
                .path_info = path,
                .content_type = kSync,
                .content_length = "0",
                .remote_address = "192.0.2.1"});
  }
  bool body_was_read() const { return body_was_read_; }
  /// Runs the work after a reply. Returns the numbers that the site sends to the master, each
  /// followed by a space.
  std::string work_after_reply() {
    site_.work_after_reply();
    std::string asked;
    for (quarry::control::Message message{};
         channel_.first.receive(&message) == quarry::control::Received::kMessage;) {
      asked += std::to_string(message.number) + " ";
    }
    return asked;
  }

 private:
  WorkerOptions options_;
  quarry::scoreboard::Board board_;
  quarry::scoreboard::Slot slot_;
  std::pair<quarry::control::Channel, quarry::control::Channel> channel_;
  Site site_;
  bool body_was_read_ = false;
};

WorkerOptions of_folder(const World& world) {
  WorkerOptions options;
  options.repositories = world.folder();
  options.cache = 2;
  return options;
}

bool speaks_sync(const Reply& reply) {
  return reply.status == 200 && reply.content_type.starts_with("application/x-fossil") &&
         reply.body.contains("# timestamp ");
}

/// Sends a push card and CARDS to the repository NAME of WORLD.
Reply push_cards(Asker& pool, const World& world, const std::string& name,
                 const std::string& cards) {
  auto repository = quarry::repository::Repository::open(world.path(name + ".fossil"));
  REQUIRE(repository);
  const std::string all = fmt::format("push {} {}\n{}", std::string(40, '0'),
                                      (*repository)->settings().project_code(), cards);
  const std::string path = "/" + name;
  const std::string size = std::to_string(all.size());
  return pool.ask(
      {.method = "POST", .path_info = path, .content_type = kSync, .content_length = size}, all);
}

/// Sends an artifact with CONTENT.
Reply push(Asker& pool, const World& world, const std::string& name, const std::string& content,
           const std::string& pragma = {}) {
  const auto artifact =
      quarry::artifact::HashName::of(quarry::artifact::HashAlgorithm::kSha1, content);
  return push_cards(
      pool, world, name,
      fmt::format("{}file {} {}\n{}\n", pragma, artifact.str(), content.size(), content));
}

/// Answers each question of a worker to quarry-replica with ANSWER.
class Replica {
 public:
  explicit Replica(const World& world)
      : path_(world.path("replica.sock")),
        listener_(*quarry::base::listen_on(*quarry::base::SocketAddress::parse(path_))),
        thread_([this] { serve(); }) {}
  ~Replica() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  std::string path() const { return path_; }
  void answer(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    answer_ = line + "\n";
  }
  /// Returns the questions so far, and forgets them.
  std::string questions() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(questions_, "");
  }

 private:
  void serve() {
    pollfd waiting{listener_.get(), POLLIN, 0};
    while (::poll(&waiting, 1, -1) == 1 && (waiting.revents & POLLHUP) == 0) {
      const quarry::base::Fd client(::accept(listener_.get(), nullptr, nullptr));
      std::array<char, 200> line{};
      const ssize_t size = ::read(client.get(), line.data(), line.size());
      if (size <= 0) continue;
      const std::scoped_lock lock(mutex_);
      questions_.append(line.data(), static_cast<std::size_t>(size));
      ::send(client.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
    }
  }

  std::string path_;
  quarry::base::Fd listener_;
  std::mutex mutex_;
  std::string answer_ = "ok {}\n";
  std::string questions_;
  std::thread thread_;
};

WorkerOptions replicated(const World& world, const std::string& socket) {
  WorkerOptions options = of_folder(world);
  options.pool = "www";
  options.session.all_rights = true;
  options.replication = {.socket = socket};
  return options;
}

constexpr std::string_view kUnconfirmed = "error the\\spush\\sis\\sstored\\son\\sthis\\shost";

}  // namespace

TEST_CASE("a pool of one repository answers a sync on any path") {
  const World world;
  WorkerOptions options;
  options.repository = world.repository("one.fossil");
  Asker pool(options);
  for (const char* path : {"", "/", "/xfer", "/some/where/xfer"})
    CHECK(speaks_sync(pool.sync(path)));
  CHECK(pool.get("/").status == 200);
  CHECK(pool.get("/timeline").status == 404);
}

TEST_CASE(
    "a pool over a folder finds each repository by its name, with or without a path after it") {
  const World world;
  world.repository("one.fossil");
  world.repository("team/two.fossil");
  world.repository("team/three.fossil");
  Asker pool(of_folder(world));
  // Three repositories are requested in turn, but the cache holds only two.
  for (int i = 0; i < 3; ++i) {
    CHECK(speaks_sync(pool.sync("/one")));
    CHECK(speaks_sync(pool.sync("/team/two/xfer")));
    CHECK(speaks_sync(pool.sync("/team/three/anything/else")));
  }
  CHECK(pool.get("/team/two").body.contains("http://example.org/team/two"));
  for (const char* path : {"/", "/team", "/nobody", "/../one", "/team/../one", "/one.fossil", "/.",
                           "/%2e%2e/one", "//"}) {
    CAPTURE(path);
    CHECK(pool.sync(path).status == 404);
  }
}

TEST_CASE("a pool over a folder lists its content if configured to") {
  const World world;
  world.repository("one.fossil");
  world.repository("team/two.fossil");
  WorkerOptions options = of_folder(world);
  CHECK(Asker(options).get("/").status == 404);
  options.has_index = true;
  Asker pool(options);
  for (const char* path : {"", "/", "//"}) {
    CAPTURE(path);
    CHECK(pool.get(path).body == "http://example.org/one\nhttp://example.org/team/two\n");
    CHECK(pool.sync(path).status == 404);
  }
  Request plain{
      .method = "GET", .script_name = "/code/", .path_info = "/", .host = "<h>", .is_https = true};
  CHECK(pool.ask(plain).body == "https://<h>/code/one\nhttps://<h>/code/team/two\n");
  CHECK(pool.get("/team").status == 404);
  CHECK(speaks_sync(pool.sync("/team/two")));
  const std::array<const char*, 2> browser = {"HTTP_ACCEPT=text/html", nullptr};
  plain.variables = browser.data();
  const Reply page = pool.ask(plain);
  CHECK(page.content_type == "text/html; charset=utf-8");
  CHECK(page.body.contains("href=\"https://&lt;h&gt;/code/team/two\""));
  plain.query = "after=one";
  CHECK(pool.ask(plain).body.contains("https://&lt;h&gt;/code/team/two\""));
  CHECK_FALSE(pool.ask(plain).body.contains("https://&lt;h&gt;/code/one\""));
}

TEST_CASE("an error is a page for a browser, but never for a sync") {
  const std::array<const char*, 2> browser = {"HTTP_ACCEPT=text/html", nullptr};
  Request request{.method = "GET", .variables = browser.data()};
  const Reply page = for_browser(request, text_reply(404, "no <such> thing"));
  CHECK(page.content_type == "text/html; charset=utf-8");
  CHECK(page.body.contains(">No &lt;such&gt; thing.</p>"));
  CHECK(page.error == "no <such> thing");
  Reply uncached = text_reply(404, "no");
  uncached.headers = "Cache-Control: no-store\r\n";
  const std::string headers = for_browser(request, uncached).headers;
  CHECK(headers.find("Cache-Control") == headers.rfind("Cache-Control"));
  CHECK(headers.contains("Content-Security-Policy: "));
  CHECK(for_browser(request, text_reply(200, "fine")).body == "fine\n");
  request.content_type = kSync;
  CHECK(for_browser(request, text_reply(404, "no")).body == "no\n");
  request = {.method = "GET"};
  CHECK(for_browser(request, text_reply(404, "no")).body == "no\n");
}

TEST_CASE("only pages are compressed, and only for clients that accept gzip") {
  const std::array<const char*, 2> browser = {"HTTP_ACCEPT_ENCODING=gzip, br", nullptr};
  const Request request{.method = "GET", .variables = browser.data()};
  Reply page = text_reply(200, std::string(100'000, '<'));
  page.content_type = "text/html; charset=utf-8";
  Reply plain = page;
  compress_page({.method = "GET"}, plain);
  CHECK(plain.body == page.body);
  CHECK(plain.headers == "Vary: Accept-Encoding\r\n");
  compress_page(request, page);
  CHECK(page.body.starts_with("\x1f\x8b"));
  CHECK(page.body.size() < 1000);
  CHECK(page.headers == "Vary: Accept-Encoding\r\nContent-Encoding: gzip\r\n");
  Reply text = text_reply(200, "text");
  compress_page(request, text);
  CHECK(text.body == "text\n");
  CHECK(text.headers.empty());
}

TEST_CASE("the name may be in SCRIPT_NAME if the web server does not split paths") {
  const World world;
  world.repository("one.fossil");
  Asker pool(of_folder(world));
  CHECK(pool.ask({.method = "GET", .script_name = "/one", .host = "h"}).status == 200);
  CHECK(pool.ask({.method = "GET", .script_name = "/base", .path_info = "/one"}).status == 200);
}

TEST_CASE("the longest name wins, but the endpoints of a repository take precedence") {
  const World world;
  world.repository("a.fossil");
  world.repository("a/b.fossil");
  world.repository("a/ping.fossil");
  Asker pool(of_folder(world));
  CHECK(pool.get("/a/b").body.contains("/a/b"));
  CHECK(pool.get("/a/ping").status == 404);
}

TEST_CASE("the words status and ping after a name show nothing, even if the pool has such pages") {
  const World world;
  world.repository("one.fossil");
  WorkerOptions options = of_folder(world);
  CHECK(Asker(options).get("/status").status == 404);
  CHECK(Asker(options).get("/ping").status == 404);
  options.status = {"www", "/status", "/ping", "pong"};
  Asker pool(options);
  CHECK(pool.get("/status").body.starts_with("pool: "));
  CHECK(pool.get("/ping").body == "pong");
  CHECK(pool.get("/one/status").status == 404);
  CHECK(pool.get("/one/ping").status == 404);
}

TEST_CASE("requests other than syncs are refused with one line and without reading a body") {
  const World world;
  WorkerOptions options;
  options.repository = world.repository("one.fossil");
  options.max_body = 1000;
  Asker pool(options);
  for (const auto& [status, request] : std::vector<std::pair<int, Request>>{
           {405, {.method = "PUT"}},
           {405, {.method = ""}},
           {415, {.method = "POST", .content_type = "text/html", .content_length = "1"}},
           {415,
            {.method = "POST",
            .content_type = "application/x-fossil-uncompressed",
            .content_length = "1"}},
           {400, {.method = "POST", .content_type = kSync}},
           {400, {.method = "POST", .content_type = kSync, .content_length = "-1"}},
           {400, {.method = "POST", .content_type = kSync, .content_length = "12x"}},
           {413, {.method = "POST", .content_type = kSync, .content_length = "1001"}},
           {400,
            {.method = "POST", .content_type = kSync, .content_length = "99999999999999999999"}}}) {
    const Reply reply = pool.ask(request);
    CHECK(reply.status == status);
    CHECK_FALSE(pool.body_was_read());
    CHECK(reply.body.ends_with('\n'));
    CHECK_FALSE(reply.error.empty());
  }
}

TEST_CASE("a file that is not a repository is a server error, with details only in the log") {
  const World world;
  std::ofstream(world.path("broken.fossil")) << "this is not a database at all";
  Asker pool(of_folder(world));
  const Reply reply = pool.sync("/broken");
  CHECK(reply.status == 500);
  CHECK(reply.body == "the repository cannot be opened\n");
  CHECK(reply.error.contains("broken.fossil"));
}

TEST_CASE("after a request the master is asked for a backoffice run that is due") {
  const World world;
  world.repository("one.fossil");
  world.repository("two.fossil");
  WorkerOptions options = of_folder(world);
  HeldClock clock;
  options.open.clock = &clock;
  BackgroundCheck check{true, 0};
  int checks = 0;
  options.background.check = [&](auto&) -> quarry::base::Result<BackgroundCheck> {
    ++checks;
    return check;
  };
  Asker pool(options);
  const std::string one = std::to_string(quarry::repository::number_of("one")) + " ";
  pool.sync("/one");
  CHECK(pool.work_after_reply() == one);
  CHECK(pool.work_after_reply() == "");  // each request is followed by one message to the master
  pool.get("/one");
  CHECK(pool.work_after_reply() == one);
  pool.sync("/none");
  CHECK(pool.work_after_reply() == "");

  // The check reports that no work is due for this repository within 30 s. During this time the
  // worker does not check the repository again.
  const std::int64_t now = clock.now().value / 1000;
  check = {false, now + 30};
  pool.sync("/one");
  CHECK(pool.work_after_reply() == "");
  checks = 0;
  pool.sync("/one");
  CHECK(pool.work_after_reply() == "");
  CHECK(checks == 0);
  check = {true, 0};
  pool.sync("/two");
  CHECK(pool.work_after_reply() == std::to_string(quarry::repository::number_of("two")) + " ");
  clock.advance(30'000);
  pool.sync("/one");
  CHECK(pool.work_after_reply() == one);
}

TEST_CASE("only the peers of a repository are notified of its new artifacts") {
  const World world;
  world.repository("one.fossil");
  world.repository("two.fossil");
  WorkerOptions options = of_folder(world);
  options.session.all_rights = true;
  options.peers["one"] = {7, 8};
  Asker pool(options);
  const auto work_after_push = [&](const std::string& to, const std::string& pragma = {}) {
    const Reply reply = push(pool, world, to, "news", pragma);
    CHECK(reply.status == 200);
    CHECK(reply.error == "");
    return pool.work_after_reply();
  };
  // After a push, the site first requests the job that sends the events of the push.
  const auto events = [](const char* repository) {
    return std::to_string(quarry::repository::number_of(repository)) + " ";
  };
  CHECK(work_after_push("one") == events("one") + "7 8 ");
  CHECK(work_after_push("one") == "");  // already stored
  CHECK(work_after_push("one", "pragma client-url https://example.org/one\n") == "");
  CHECK(work_after_push("two") == events("two"));
  pool.sync("/one");
  CHECK(pool.work_after_reply() == "");
}

TEST_CASE("a push succeeds when other hosts have confirmed it") {
  const World world;
  world.repository("one.fossil");
  Replica replica(world);
  Asker pool(replicated(world, replica.path()));
  const Reply reply = push(pool, world, "one", "news");
  CHECK(speaks_sync(reply));
  CHECK(reply.error == "");
  CHECK(replica.questions() == "publish www one\n");
}

TEST_CASE("a push that other hosts have not confirmed fails, but is stored") {
  const World world;
  world.repository("one.fossil");
  Replica replica(world);
  Asker pool(replicated(world, replica.path()));
  replica.answer("error the servers have no leader");
  const Reply reply = push(pool, world, "one", "news");
  CHECK(speaks_sync(reply));
  CHECK(reply.body.contains(kUnconfirmed));
  CHECK_FALSE(reply.body.contains("message "));
  CHECK(reply.error == "the servers have no leader");
  CHECK(reply.is_fault);
  CHECK(reply.artifacts_in == 1);
  const std::string events = std::to_string(quarry::repository::number_of("one")) + " ";
  CHECK(pool.work_after_reply().contains(events));
}

TEST_CASE("a repeated push fails until other hosts have confirmed it") {
  const World world;
  world.repository("one.fossil");
  Replica replica(world);
  Asker pool(replicated(world, replica.path()));
  replica.answer("error the servers have no leader");
  push(pool, world, "one", "news");
  const Reply again = push(pool, world, "one", "news");
  CHECK(again.artifacts_in == 0);
  CHECK(again.body.contains(kUnconfirmed));
  replica.answer("ok {}");
  const Reply last = push(pool, world, "one", "news");
  CHECK(last.error == "");
  CHECK_FALSE(last.body.contains(kUnconfirmed));
}

TEST_CASE("a push without new artifacts waits only if the repository has unconfirmed changes") {
  const World world;
  world.repository("one.fossil");
  Replica replica(world);
  Asker pool(replicated(world, replica.path()));
  push(pool, world, "one", "news");
  replica.questions();
  CHECK(push_cards(pool, world, "one", "").error == "");
  CHECK(replica.questions() == "");
  // Another worker stores something, and other hosts do not confirm it.
  Asker other(replicated(world, world.path("nobody.sock")));
  push(other, world, "one", "more news");
  push_cards(pool, world, "one", "");
  CHECK(replica.questions() == "publish www one\n");
}

TEST_CASE("a push fails if quarry-replica does not run") {
  const World world;
  world.repository("one.fossil");
  Asker pool(replicated(world, world.path("nobody.sock")));
  const Reply reply = push(pool, world, "one", "news");
  CHECK(reply.body.contains(kUnconfirmed));
  CHECK(reply.error.contains("nobody.sock"));
}

TEST_CASE(
    "a pool that does not wait for other hosts only notifies quarry-replica of new artifacts") {
  const World world;
  world.repository("one.fossil");
  WorkerOptions options = replicated(world, world.path("nobody.sock"));
  options.replication.waits = false;
  Asker alone(options);
  CHECK(push(alone, world, "one", "news").error == "");
  Replica replica(world);
  options.replication.socket = replica.path();
  Asker pool(options);
  push(pool, world, "one", "more news");
  CHECK(eventually([&] { return replica.questions() == "notify www one\n"; }));
  push(pool, world, "one", "more news");
  CHECK(replica.questions() == "");
}

TEST_CASE("a pull does not wait for other hosts") {
  const World world;
  world.repository("one.fossil");
  Replica replica(world);
  Asker pool(replicated(world, replica.path()));
  CHECK(speaks_sync(pool.sync("/one")));
  CHECK(replica.questions() == "");
}
