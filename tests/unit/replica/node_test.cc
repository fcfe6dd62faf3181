#include "node.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "eventually.h"
#include "lag.h"
#include "memory_stream.h"
#include "quarry/base/socket.h"
#include "quarry/control/publication.h"
#include "quarry/control/replica_state.h"
#include "quarry/repository/replica_tables.h"
#include "quarry/repository/whole_file.h"
#include "temporary_folder.h"

using namespace quarry;
using namespace std::chrono_literals;
using nlohmann::json;
using repository::Repository;

namespace {

namespace fs = std::filesystem;

fs::path file_in(const fs::path& folder, std::string_view name) {
  return folder / (std::string(name) + ".fossil");
}

/// Runs STATEMENTS as another program would.
class OtherProgram {
 public:
  explicit OtherProgram(const fs::path& path) {
    REQUIRE(sqlite3_open(path.c_str(), &database_) == SQLITE_OK);
    sqlite3_busy_timeout(database_, kPatience);
  }
  ~OtherProgram() { sqlite3_close(database_); }
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;

  std::string run(const std::string& statements) {
    std::string first;
    const auto take = [](void* out, int, char** values, char**) {
      auto& text = *static_cast<std::string*>(out);
      if (text.empty() && values[0] != nullptr) text = values[0];
      return 0;
    };
    char* error = nullptr;
    const int code = sqlite3_exec(database_, statements.c_str(), take, &first, &error);
    const std::string message = error == nullptr ? "" : error;
    sqlite3_free(error);
    REQUIRE_MESSAGE(code == SQLITE_OK, message);
    return first;
  }

 private:
  sqlite3* database_ = nullptr;
};

/// A host with a pool `www`, whose folder has the repositories.
class Host {
 public:
  Host(std::string name, MemoryEngine& engine) : name_(std::move(name)), stream_(engine, name_) {
    fs::create_directory(repositories());
    fs::create_directory(folder_ / "state");
  }
  ~Host() { stop(); }

  void start() {
    replica::ReplicaOptions options;
    options.stream.host = name_;
    options.stream.group = "g";
    options.pools = {{.name = "www", .path = repositories(), .is_folder = true}};
    options.folder = folder_ / "state";
    options.acknowledge_timeout = kPatienceTime;
    options.compare_interval = compare_interval;
    options.open.busy_timeout = 50ms;
    options.since = since;
    node_ = std::make_unique<replica::Node>(options, stream_);
    stop_ = base::Fd(::eventfd(0, EFD_CLOEXEC));
    auto listener = base::listen_on(*base::SocketAddress::parse(socket()));
    REQUIRE(listener);
    server_ = std::thread([this, fd = std::move(*listener)]() mutable {
      CHECK(node_->serve(std::move(fd), stop_.get(), [] { return false; }));
    });
  }
  /// Whether the host misses all messages from now on.
  void lose(bool loses) { stream_.lose(loses); }
  bool is_at_end() const { return stream_.is_at_end(); }
  std::size_t requests() const { return stream_.requests(); }
  void stop_serving() {
    if (!server_.joinable()) return;
    const std::uint64_t one = 1;
    REQUIRE(::write(stop_.get(), &one, sizeof one) == sizeof one);
    server_.join();
  }
  void stop() {
    stop_serving();
    node_.reset();
  }

  base::UnixMillis since = replica::ReplicaOptions().since;

  fs::path repositories() const { return folder_ / "repositories"; }
  fs::path file(std::string_view name = "a") const { return file_in(repositories(), name); }
  std::string socket() const { return (folder_ / "socket").string(); }

  /// Commits an artifact, as a worker does.
  void put(std::string_view content, std::string_view name = "a") const {
    const auto repository = Repository::open(file(name));
    REQUIRE(repository);
    auto receipt = (*repository)->receive();
    REQUIRE(receipt);
    const auto hash = artifact::HashName::of(artifact::HashAlgorithm::kSha3_256, content);
    REQUIRE(receipt->store({.name = hash, .payload = content}));
    REQUIRE(receipt->commit());
  }
  control::Publication publication() const { return {socket(), kPatienceTime}; }
  Result<control::PublishedPosition> publish(std::string_view name = "a") const {
    return publication().publish("www", name);
  }
  Result<void> wait(std::uint64_t sequence) const {
    return control::Publication(socket(), kPatienceTime).wait("www", "a", sequence);
  }
  control::ReplicaState state() const {
    return control::ReplicaState::read(folder_ / "state" / "state");
  }
  void put_and_publish(std::string_view content, std::string_view name = "a") const {
    put(content, name);
    const auto published = publish(name);
    REQUIRE_MESSAGE(published.has_value(), (published ? "" : published.error().message));
  }
  /// Asks as a transaction does that sees the position of the repository.
  Result<bool> land(std::string_view content) const {
    const auto repository = Repository::open(file());
    REQUIRE(repository);
    const auto snapshot = (*repository)->snapshot();
    const auto position = repository::ReplicaTables(**repository).position();
    REQUIRE(position);
    return control::Publication(socket(), kPatienceTime)
        .land(
            "www", "a", position->created, position->sequence,
            {fmt::format("from 1 - -\nfile {} {}\n{}\n",
                         artifact::HashName::of(artifact::HashAlgorithm::kSha3_256, content).str(),
                         content.size(), content)});
  }
  Result<void> catch_up() const {
    return control::Publication(socket(), kPatienceTime).catch_up("www", "a");
  }
  json status() const {
    const auto answer = publication().status();
    REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().message));
    return json::parse(*answer);
  }
  json status(std::string_view name) const {
    const auto answer = publication().status("www", name);
    return answer ? json::parse(*answer) : json{{"error", answer.error().message}};
  }
  std::string digest(std::string_view name = "a") const { return status(name).value("digest", ""); }
  /// Returns whether the repository has the artifact.
  bool has(std::string_view content, std::string_view name = "a") const {
    const auto repository = Repository::open(file(name));
    if (!repository) return false;
    const auto snapshot = (*repository)->snapshot();
    return (*repository)
        ->find(artifact::HashName::of(artifact::HashAlgorithm::kSha3_256, content))
        .has_value();
  }
  bool is_connected() const { return status().value("connected", false); }
  /// Copies WHAT (a pool and a name, or everything) from the host FROM. Returns the final state.
  json join(std::string_view from, std::string_view what = "") const {
    const control::Publication client(socket(), kPatienceTime);
    if (const auto joined = client.join(from, what); !joined)
      return {{"error", joined.error().message}};
    json state;
    REQUIRE(eventually([&] {
      state = json::parse(*client.joined());
      return state["running"] == false;
    }));
    return state;
  }
  Result<void> leave() const { return control::Publication(socket(), kPatienceTime).leave(); }

  std::chrono::milliseconds compare_interval{10000};  // for start()

 private:
  const std::string name_;
  TemporaryFolder folder_;
  MemoryStream stream_;
  std::unique_ptr<replica::Node> node_;
  base::Fd stop_;
  std::thread server_;
};

struct Group {
  Group() { add("a"); }

  /// Creates a repository, and copies it to all hosts.
  void add(std::string_view name) const {
    REQUIRE(repository::init(one.file(name), {.project_name = std::string(name), .user = "ann"}));
    fs::copy_file(one.file(name), two.file(name));
    fs::copy_file(one.file(name), three.file(name));
  }
  void start() {
    for (Host* host : {&one, &two, &three}) host->start();
    for (Host* host : {&one, &two, &three}) {
      REQUIRE(eventually([&] { return host->is_connected() && !host->digest().empty(); }));
    }
  }
  bool are_equal(std::string_view name = "a") const {
    const json status = one.status(name);
    const auto is_equal = [&](const Host& host) {
      const json other = host.status(name);
      return other["digest"] == status["digest"] && other["rows"] == status["rows"];
    };
    return status.contains("digest") && is_equal(two) && is_equal(three);
  }
  /// Makes the hosts compare their repositories often.
  void compare_often() {
    for (Host* host : {&one, &two, &three}) host->compare_interval = 50ms;
  }
  bool agree() const {
    return std::ranges::all_of(std::array{&one, &two, &three}, [](const Host* host) {
      const json status = host->status("a");
      return status["same"] == true && status["needs_sync"] == false;
    });
  }

  MemoryEngine engine;
  Host one{"one", engine}, two{"two", engine}, three{"three", engine};
};

}  // namespace

TEST_CASE_FIXTURE(Group, "a published commit reaches all other hosts") {
  start();
  one.put_and_publish("first");
  CHECK(engine.last() == 1);
  two.put_and_publish(std::string(20'000, 'x'));  // more than one message
  CHECK(eventually([&] { return two.has("first") && three.has("first") && are_equal(); }));
  CHECK(one.has(std::string(20'000, 'x')));
  CHECK(one.status("a")["is_published"] == true);
}

TEST_CASE_FIXTURE(Group,
                  "a commit that a worker has made before quarry-replica started is published") {
  one.since = base::system_clock().now();
  one.put("early");
  start();
  CHECK(one.publish());
  CHECK(eventually([&] { return two.has("early") && three.has("early"); }));
}

TEST_CASE_FIXTURE(Group, "a wrong clock is in the status") {
  start();
  one.put_and_publish("first");
  CHECK(one.status()["clock_difference_seconds"] == 0);
  for (const int seconds : {-300, 300}) {
    engine.set_clock(std::chrono::seconds(seconds));
    one.put_and_publish(std::to_string(seconds));
    CHECK(eventually([&] {
      return std::abs(one.status()["clock_difference_seconds"].get<double>() + seconds) < 100;
    }));
  }
}

TEST_CASE_FIXTURE(Group, "commits of other programs are found without a request") {
  start();
  OtherProgram(three.file())
      .run("REPLACE INTO config(name, value, mtime) VALUES('project-description', 'text', 1)");
  one.put("unannounced");
  CHECK(eventually([&] {
    return three.has("unannounced") &&
           OtherProgram(two.file())
                   .run("SELECT value FROM config WHERE name='project-description'") == "text";
  }));
}

TEST_CASE_FIXTURE(Group, "commits that were made while quarry-replica did not run are found") {
  start();
  one.put_and_publish("first");
  CHECK(eventually([&] { return three.has("first"); }));
  one.stop();
  three.stop();
  one.put("at night");
  two.put_and_publish("in between");
  one.start();
  three.start();
  CHECK(eventually([&] { return two.has("at night") && are_equal(); }));
}

TEST_CASE_FIXTURE(Group, "a start opens only the repositories that have changed") {
  add("b");
  start();
  CHECK(eventually([&] { return one.status()["touched"].size() == 2; }));
  // The state of a file is recorded only when no later commit can have the same time.
  json touched;
  CHECK(eventually([&] {
    std::this_thread::sleep_for(200ms);
    one.stop();
    one.start();
    REQUIRE(eventually([&] { return one.publish("b").has_value(); }));
    touched = one.status()["touched"];
    return touched.size() == 1;
  }));
  CHECK(touched[0]["name"] == "b");
  // Entries about a repository that was not opened are applied, too.
  two.put_and_publish("for a", "a");
  CHECK(eventually([&] { return one.has("for a", "a"); }));
}

TEST_CASE_FIXTURE(Group,
                  "without a connection, callers get an error, and the commit is published later") {
  start();
  engine.set_up(false);
  one.put("offline");
  CHECK(eventually([&] {
    const auto published = one.publish();
    REQUIRE_FALSE(published);
    return published.error().message == "no server of the stream answers";
  }));
  CHECK(one.status()["connected"] == false);
  CHECK_FALSE(two.has("offline"));
  engine.set_up(true);
  CHECK(eventually([&] { return two.has("offline") && three.has("offline"); }));
  CHECK(eventually([&] { return one.publish().has_value(); }));
}

TEST_CASE_FIXTURE(Group, "a client waits until a push to another host has been applied") {
  start();
  one.put("first");
  const auto position = one.publish();
  REQUIRE(position);
  CHECK(position->created == 1000);
  CHECK(position->sequence == 1);
  REQUIRE(eventually([&] { return two.wait(1).has_value(); }));
  CHECK(two.has("first"));
  const auto missing = two.wait(1000);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message == "the stream does not have this message");
  OtherProgram other(two.file());
  other.run("BEGIN IMMEDIATE");
  one.put_and_publish("second");
  auto waiting = std::async(std::launch::async,
                            [&] { return eventually([&] { return two.wait(2).has_value(); }); });
  CHECK_FALSE(two.has("second"));
  other.run("COMMIT");
  CHECK(waiting.get());
  CHECK(two.has("second"));
}

TEST_CASE_FIXTURE(Group, "the state file says whether this host is up to date") {
  start();
  CHECK(eventually([&] { return one.state().reason.empty() && one.state().lag == 0ms; }));
  engine.set_up(false);
  CHECK(eventually([&] { return one.state().reason == "no server of the stream answers"; }));
  engine.set_up(true);
  CHECK(eventually([&] { return one.state().reason.empty() && !one.state().is_away; }));
}

TEST_CASE("the lag is the age of the oldest message that was not read") {
  replica::Lag lag;
  const replica::Lag::TimePoint start{};
  CHECK(lag.update(5, 5, start) == 0ms);
  CHECK(lag.update(7, 5, start + 1s) == 0ms);
  CHECK(lag.update(9, 6, start + 3s) == 2s);
  CHECK(lag.update(9, 7, start + 4s) == 0ms);  // 8 is at most a second old
  CHECK(lag.update(9, 8, start + 5s) == 1s);
  CHECK(lag.update(9, 9, start + 6s) == 0ms);
  // Nobody knows what the other hosts do meanwhile.
  CHECK(lag.update(std::nullopt, 9, start + 7s) == 0ms);
  CHECK(lag.update(std::nullopt, 9, start + 17s) == 10s);
  CHECK(lag.update(12, 9, start + 18s) == 11s);
  CHECK(lag.update(12, 12, start + 19s) == 0ms);
  // The stream was created again, and this host has not read it yet.
  CHECK(lag.update(1, 0, start + 20s) == 1s);
  CHECK(lag.update(1, 1, start + 21s) == 0ms);
}

TEST_CASE_FIXTURE(Group,
                  "without a quorum, callers get an error, and the commit is published later") {
  start();
  engine.set_quorum(false);
  one.put("no quorum");
  const auto published = one.publish();
  REQUIRE_FALSE(published);
  CHECK(published.error().message == "no answer");
  CHECK(eventually([&] { return one.status("a")["is_published"] == false; }));
  engine.set_quorum(true);
  CHECK(eventually([&] { return two.has("no quorum") && three.has("no quorum"); }));
}

TEST_CASE_FIXTURE(Group, "a caller waits for a commit that follows the publication in progress") {
  start();
  one.put_and_publish("first");
  engine.hold(true);
  one.put("second");
  auto second = std::async(std::launch::async, [&] { return one.publish(); });
  engine.wait_for_calls(2);
  one.put("third");
  auto third = std::async(std::launch::async, [&] { return one.publish(); });
  auto fourth = std::async(std::launch::async, [&] { return one.publish(); });
  CHECK(one.status()["connected"] == true);  // the server answers meanwhile
  CHECK(third.wait_for(0ms) == std::future_status::timeout);
  engine.hold(false);
  CHECK(second.get());
  CHECK(third.get());
  CHECK(engine.last() == 3);
  CHECK(fourth.get());
}

TEST_CASE_FIXTURE(Group, "a caller does not wait for a process that holds the write lock") {
  start();
  engine.hold(true);
  one.put("first");
  auto first = std::async(std::launch::async, [&] { return one.publish(); });
  engine.wait_for_calls(1);
  OtherProgram other(one.file());
  other.run("BEGIN IMMEDIATE");
  engine.hold(false);
  CHECK(first.get());
  CHECK(eventually([&] { return one.status("a")["is_published"] == true; }));
  other.run("COMMIT");
  CHECK(engine.last() == 1);
}

TEST_CASE_FIXTURE(Group, "the first host that claims a key wins until the claim is released") {
  add("b");
  start();
  const auto claim = [](const Host& host, std::string_view value, std::string_view name = "a") {
    return host.publication().claim("www", name, "day", value).value_or("");
  };
  CHECK(claim(one, "1") == "1");
  CHECK(claim(two, "2") == "1");
  CHECK(claim(one, "1") == "1");
  CHECK(claim(two, "2", "b") == "2");  // keys belong to a project
  two.publication().release("www", "a", "day", "2");
  CHECK(claim(two, "2") == "1");
  one.publication().release("www", "a", "day", "1");
  CHECK(eventually([&] { return claim(two, "2") == "2"; }));
  const auto lease = one.publication().lease("www", "a", "day");
  REQUIRE(lease);
  CHECK(lease->has_value());
  CHECK_FALSE(two.publication().lease("www", "a", "day")->has_value());
  CHECK(one.publication().claim("www", "a", std::string(201, 'k'), "1").error().message ==
        "the key is longer than 200 characters");
  engine.set_up(false);
  CHECK_FALSE(two.publication().claim("www", "a", "other", "2"));
}

TEST_CASE_FIXTURE(Group, "a host that lacks changes of other hosts does not win a current claim") {
  start();
  const auto claim = [](const Host& host) {
    return host.publication().claim("www", "a", "day", "1", control::ClaimWhen::kCurrent);
  };
  OtherProgram other(two.file());
  other.run("BEGIN IMMEDIATE");
  one.put_and_publish("first");
  CHECK(eventually([&] { return two.status("a").value("lag_messages", 0) > 0; }));
  CHECK(claim(two).error().message == "the changes of other hosts are not applied yet");
  other.run("COMMIT");
  CHECK(eventually([&] { return claim(two).has_value(); }));
}

TEST_CASE_FIXTURE(Group, "no change is lost while another program locks a repository for a time") {
  start();
  one.put_and_publish("first");
  CHECK(eventually([&] { return two.has("first"); }));
  OtherProgram other(two.file());
  int later = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string name = std::to_string(i);
    other.run("BEGIN IMMEDIATE");
    one.put_and_publish("locked " + name);
    CHECK(eventually([&] { return two.status("a").value("lag_messages", 0) > 0; }));
    one.put_and_publish("more " + name);
    other.run("COMMIT");
    // Other messages arrive while the waiting ones are tried again.
    while (!two.has("locked " + name)) one.put_and_publish("later " + std::to_string(++later));
    CHECK(eventually(
        [&] { return two.has("more " + name) && two.has("later " + std::to_string(later)); }));
  }
  CHECK(two.requests() == 0);  // no comparison of hosts has repaired it
  CHECK(eventually([&] { return are_equal(); }));
}

TEST_CASE_FIXTURE(Group,
                  "messages about unknown projects are skipped until the repository arrives") {
  REQUIRE(repository::init(one.file("b"), {.project_name = "b", .user = "ann"}));
  start();
  REQUIRE(eventually([&] { return !one.digest("b").empty(); }));
  one.put_and_publish("before the copy", "b");
  CHECK(eventually([&] { return two.status()["skipped"] == 1; }));
  // A copy from before the commit.
  one.stop();
  OtherProgram(one.file("b")).run("VACUUM INTO '" + two.file("b").string() + "'");
  one.start();
  REQUIRE(eventually([&] { return one.is_connected(); }));
  CHECK(eventually([&] { return !two.digest("b").empty(); }));
  one.put_and_publish("after the copy", "b");
  CHECK(eventually([&] { return two.has("after the copy", "b"); }));
  CHECK(two.has("before the copy", "b"));
  CHECK(eventually([&] { return one.digest("b") == two.digest("b"); }));
}

TEST_CASE_FIXTURE(Group, "an empty repository that is added later gets the skipped messages") {
  REQUIRE(repository::init(one.file("b"), {.project_name = "b", .user = "ann"}));
  fs::copy_file(one.file("b"), two.repositories() / "later");
  start();
  REQUIRE(eventually([&] { return !one.digest("b").empty(); }));
  one.put_and_publish("skipped", "b");
  one.put_and_publish("not skipped");
  CHECK(eventually([&] { return two.status()["skipped"] == 1 && two.has("not skipped"); }));
  fs::rename(two.repositories() / "later", two.file("b"));
  CHECK(eventually([&] { return !two.digest("b").empty() && two.has("skipped", "b"); }));
}

TEST_CASE_FIXTURE(Group, "a locked repository does not stop the others, and catches up in order") {
  add("b");
  start();
  REQUIRE(eventually([&] { return are_equal("b"); }));
  OtherProgram other(two.file("a"));
  other.run("BEGIN IMMEDIATE");
  const auto describe = [&](const std::string& text) {
    OtherProgram(one.file())
        .run("REPLACE INTO config(name, value, mtime) VALUES('project-description', '" + text +
             "', 1)");
    const auto published = one.publish();
    REQUIRE_MESSAGE(published.has_value(), (published ? "" : published.error().message));
  };
  describe("old");
  CHECK(eventually([&] { return two.status()["failed"] == 1; }));
  describe("new");
  one.put_and_publish("for b", "b");
  CHECK(eventually([&] { return two.has("for b", "b"); }));
  const json touched = two.status()["touched"];
  REQUIRE_FALSE(touched.empty());
  CHECK(touched[0]["name"] == "a");
  CHECK(touched[0]["lag_messages"] == 2);
  CHECK(touched[0]["apply_error"] != "");
  other.run("COMMIT");
  CHECK(eventually([&] {
    return other.run("SELECT value FROM config WHERE name='project-description'") == "new";
  }));
  CHECK(eventually([&] { return two.status()["failed"] == 0; }));
}

TEST_CASE_FIXTURE(Group, "entries that wait are forgotten when the stream is created again") {
  start();
  OtherProgram other(two.file());
  other.run("BEGIN IMMEDIATE");
  one.put_and_publish("lost");
  CHECK(eventually([&] { return two.status()["failed"] == 1; }));
  engine.create_again();
  CHECK(eventually([&] { return two.status()["need_sync"] == 1 && one.is_connected(); }));
  CHECK(two.status()["failed"] == 0);
  other.run("COMMIT");
  one.put_and_publish("later");
  CHECK(eventually([&] { return two.has("later"); }));
  CHECK_FALSE(two.has("lost"));
}

TEST_CASE_FIXTURE(Group, "of two files of the same project, only the first is replicated") {
  fs::copy_file(one.file("a"), one.file("z"));
  start();
  CHECK(eventually([&] {
    return one.status("z")["error"].get<std::string>().contains("a repository of the same project");
  }));
  one.put("not replicated", "z");
  const auto published = one.publish("z");
  REQUIRE_FALSE(published);
  CHECK(published.error().message.contains("not replicated, because " + one.file("a").string()));
  const json touched = one.status()["touched"];
  CHECK(std::ranges::any_of(touched, [&](const json& each) {
    return each["name"] == "z" && each["publish_error"] == published.error().message;
  }));
  one.put_and_publish("still");
  CHECK(eventually([&] { return two.has("still"); }));
  CHECK_FALSE(one.has("still", "z"));
  CHECK_FALSE(one.has("not replicated"));
}

TEST_CASE_FIXTURE(Group, "the status reports missing messages, and replication continues") {
  start();
  one.put_and_publish("first");
  one.put_and_publish("second");
  CHECK(eventually([&] { return two.has("second") && three.has("second"); }));
  SUBCASE("discarded") {
    two.stop();
    one.put_and_publish("third");
    one.put_and_publish("fourth");
    engine.discard_before(4);
    two.start();
    CHECK(eventually([&] { return two.has("fourth"); }));
    CHECK_FALSE(two.has("third"));
  }
  SUBCASE("created again") {
    engine.create_again();
  }
  SUBCASE("created again while the process does not run") {
    two.stop();
    engine.create_again();
    two.start();
  }
  SUBCASE("lost at the end") {
    engine.end_at(1);
  }
  SUBCASE("lost at the end while the process does not run") {
    two.stop();
    engine.end_at(1);
    two.start();
  }
  CHECK(eventually([&] { return two.status("a").value("needs_sync", false); }));
  CHECK(eventually([&] { return two.is_connected(); }));
  one.put_and_publish("later");
  CHECK(eventually([&] { return two.has("later"); }));
  two.put_and_publish("answer");
  CHECK(eventually([&] { return one.has("answer"); }));
}

TEST_CASE_FIXTURE(Group, "a host whose server lost messages gets them from the other hosts") {
  const auto set = [](const Host& host, const std::string& name, const std::string& value,
                      int mtime) {
    OtherProgram(host.file())
        .run("REPLACE INTO config(name, value, mtime) VALUES('" + name + "', '" + value + "', " +
             std::to_string(mtime) + ")");
  };
  compare_often();
  start();
  set(one, "project-description", "old", 1);
  one.put_and_publish("first");
  CHECK(eventually([&] { return are_equal(); }));
  three.lose(true);
  set(one, "project-description", "new", 2);
  one.put_and_publish("lost");
  CHECK(eventually([&] { return two.has("lost") && three.is_at_end(); }));
  three.lose(false);
  three.put_and_publish("found");
  CHECK(eventually([&] { return are_equal() && agree(); }));
  CHECK(three.has("lost"));
  CHECK(one.has("found"));
  CHECK(
      OtherProgram(three.file()).run("SELECT value FROM config WHERE name='project-description'") ==
      "new");
}

TEST_CASE_FIXTURE(Group, "a host that was away for too long becomes equal, and deletes rows") {
  compare_often();
  start();
  for (const char* sql : {"INSERT INTO config(name, value, mtime) VALUES('ignore-glob', '*.o', 1)",
                          "INSERT INTO user(login, cap, mtime) VALUES('joe', 'o', 1)"}) {
    OtherProgram(one.file()).run(sql);
  }
  one.put_and_publish("first");
  CHECK(eventually([&] { return are_equal(); }));
  two.stop();
  OtherProgram(one.file()).run("DELETE FROM config WHERE name='ignore-glob'");
  one.put_and_publish("second");
  OtherProgram(one.file()).run("UPDATE user SET cap='oi' WHERE login='joe'");
  one.put_and_publish("third");
  CHECK(eventually([&] { return one.is_at_end() && three.is_at_end(); }));
  engine.discard_before(engine.last() + 1);
  two.start();
  CHECK(eventually([&] { return are_equal() && agree(); }));
  OtherProgram other(two.file());
  CHECK(other.run("SELECT count(*) FROM config WHERE name='ignore-glob'") == "0");
  CHECK(other.run("SELECT cap FROM user WHERE login='joe'") == "oi");
  CHECK(two.has("second"));
}

TEST_CASE_FIXTURE(Group, "hosts are compared after the stream was created again") {
  compare_often();
  start();
  one.put_and_publish("first");
  CHECK(eventually([&] { return are_equal(); }));
  engine.create_again();
  CHECK(eventually([&] { return one.is_connected() && two.is_connected(); }));
  two.put_and_publish("later");
  CHECK(eventually([&] { return are_equal() && agree(); }));
}

TEST_CASE_FIXTURE(Group, "hosts that agree exchange nothing but announcements") {
  compare_often();
  start();
  one.put_and_publish("first");
  CHECK(eventually([&] { return are_equal() && agree(); }));
  for (Host* host : {&one, &two, &three}) CHECK(host->requests() == 0);
  CHECK(engine.last() == 1);
  const json hosts = one.status()["hosts"];
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0]["host"] == "three");
  CHECK(hosts[0]["different"] == 0);
  CHECK(eventually([&] { return one.status()["hosts"][1]["position"] == 1; }));
}

TEST_CASE_FIXTURE(Group, "a host copies the repositories that it lacks") {
  REQUIRE(repository::init(one.file("b"), {.project_name = "b", .user = "ann"}));
  fs::create_directory(one.repositories() / "team");
  REQUIRE(repository::init(one.file("team/c"), {.project_name = "c", .user = "ann"}));
  start();
  for (const char* name : {"b", "team/c"}) {
    REQUIRE(eventually([&] { return !one.digest(name).empty(); }));
    one.put_and_publish(std::string(10'000, 'x'), name);
  }
  one.put_and_publish("for a");
  const json joined = two.join("one");
  CHECK(joined.value("error", "") == "");
  std::vector<std::string> results;
  for (const json& each : joined["results"]) {
    results.push_back(each["repository"].get<std::string>() + ' ' +
                      each["result"].get<std::string>());
  }
  CHECK(results == std::vector<std::string>{"www/a kept", "www/b copied", "www/team/c copied"});
  two.put_and_publish("from two", "b");
  one.put_and_publish("from one", "b");
  CHECK(eventually([&] {
    return one.has("from two", "b") && two.has("from one", "b") &&
           one.digest("b") == two.digest("b");
  }));
  CHECK(two.digest("team/c") == one.digest("team/c"));
  CHECK(
      eventually([&] { return fs::is_empty(one.repositories().parent_path() / "state/copies"); }));
  SUBCASE("only one of them, from any host") {
    compare_often();
    three.stop();
    three.start();
    CHECK(eventually([&] { return three.is_connected(); }));
    CHECK(three.join("-", "www b")["results"].size() == 1);
    CHECK(eventually([&] { return three.has("from one", "b"); }));
    CHECK_FALSE(fs::exists(three.file("team/c")));
  }
  SUBCASE("errors") {
    CHECK(two.join("nobody")["error"].get<std::string>().contains("not connected"));
    CHECK(two.join("one", "www d")["error"] == "host one does not have this repository");
  }
}

TEST_CASE_FIXTURE(Group, "a host that leaves has published everything and is forgotten") {
  compare_often();
  start();
  one.put("last");
  CHECK(eventually([&] { return two.status()["hosts"].size() == 2; }));
  CHECK(one.leave());
  CHECK(engine.last() == 1);
  CHECK(eventually([&] { return two.status()["hosts"].size() == 1; }));
}

TEST_CASE_FIXTURE(Group, "callers that still wait when quarry-replica stops get an error") {
  start();
  engine.hold(true);
  one.put("stuck");
  auto waiting = std::async(std::launch::async, [&] { return one.publish(); });
  engine.wait_for_calls(1);
  one.stop_serving();
  CHECK_FALSE(waiting.get());
  engine.hold(false);
}

TEST_CASE_FIXTURE(Group, "unknown names and requests are refused") {
  start();
  const control::Publication client(one.socket(), kPatienceTime);
  CHECK(client.publish("other", "a").error().message == "no such replicated pool");
  CHECK(client.publish("www", "b").error().message == "no such repository");
  CHECK(client.publish("www", "../a").error().message == "invalid name of a repository");
  CHECK(client.publish("www", "").error().message == "invalid name of a repository");
}

TEST_CASE_FIXTURE(Group,
                  "a landing is published while its transaction is open, if nothing came first") {
  start();
  two.put_and_publish("first");
  REQUIRE(one.catch_up());
  OtherProgram transaction(one.file());
  transaction.run("BEGIN IMMEDIATE");
  REQUIRE(eventually([&] { return one.land(std::string(20'000, 'x')) == true; }));
  // Another host's push comes first.
  CHECK(one.land("second") == false);
  CHECK(eventually([&] { return two.has(std::string(20'000, 'x')); }));
  transaction.run("ROLLBACK");
  // The host stores its own entry, too.
  REQUIRE(one.catch_up());
  CHECK(one.has(std::string(20'000, 'x')));
  REQUIRE(one.land("second") == true);
  CHECK(eventually([&] { return one.has("second") && three.has("second") && are_equal(); }));
}

TEST_CASE_FIXTURE(Group,
                  "a landing of a host that lacks changes is refused until it has caught up") {
  start();
  OtherProgram transaction(one.file());
  transaction.run("BEGIN IMMEDIATE");
  two.put_and_publish("first");
  // Before a host has read the stream, it does not publish anything.
  CHECK(eventually([&] { return one.land("second") == false; }));
  transaction.run("COMMIT");
  REQUIRE(one.catch_up());
  CHECK(one.has("first"));
  REQUIRE(one.land("second") == true);
  CHECK(eventually([&] { return two.has("second") && are_equal(); }));
}

TEST_CASE_FIXTURE(Group, "a landing fails if the servers do not store it") {
  start();
  engine.set_quorum(false);
  CHECK_FALSE(one.land("first"));
  CHECK(engine.last() == 0);
  engine.set_up(false);
  CHECK(eventually([&] {
    const auto landed = one.land("first");
    REQUIRE_FALSE(landed);
    return landed.error().message == "no server of the stream answers";
  }));
}
