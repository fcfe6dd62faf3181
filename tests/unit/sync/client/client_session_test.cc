// Tests a client's session with a server's session in one process, without a network.
#include "quarry/sync/client_session.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <random>
#include <set>

#include "quarry/repository/whole_file.h"
#include "temporary_folder.h"
#include "world.h"

using namespace quarry::sync;
using quarry::base::ErrorCode;
using quarry::base::Result;
using quarry::repository::Repository;

namespace {

const std::string kPublicNames =
    "SELECT uuid FROM blob WHERE size>=0 AND rid NOT IN (SELECT rid FROM private) ORDER BY uuid";
const std::string kAllNames = "SELECT uuid FROM blob WHERE size>=0 ORDER BY uuid";

ClientOptions both_ways(const std::string& user = "i") {
  ClientOptions options;
  options.pull = options.push = true;
  options.user = user;
  options.password = "pw";
  return options;
}

/// Runs SESSION against SERVER until the session is done. Fails after 200 requests.
Result<void> talk(ClientSession& session, World& server) {
  for (int round = 0; !session.is_done(); ++round) {
    REQUIRE(round < 200);
    auto request = session.next_request();
    if (!request) return std::unexpected(request.error());
    const Reply reply = server.ask({.content_type = request->content_type, .body = request->body});
    REQUIRE(reply.status == 200);
    QUARRY_TRY(session.take_reply(reply.content_type, reply.body, "192.0.2.1"));
  }
  return {};
}

Result<void> sync(World& client, World& server, const ClientOptions& options = both_ways()) {
  ClientSession session(client.repository(), options);
  return talk(session, server);
}

void give(World& world, const std::string& cards) {
  world.say_as("ix", kPushCard + cards);
}

void mark_unsent(World& world) {
  world.sql("INSERT OR IGNORE INTO unsent SELECT rid FROM blob WHERE size>=0");
}

std::string text(std::mt19937& random, int number) {
  std::string made = fmt::format("text {}\n", number);
  for (auto lines = random() % 40; lines > 0; --lines) made += fmt::format("{}\n", random());
  return made;
}

std::string text_of_lines(int number) {
  std::string made;
  for (int line = 0; line < 50; ++line) made += fmt::format("line {} of {}\n", line, number);
  return made;
}

/// Adds random artifacts to the repository HERE. Some are deltas, some are deltas on artifacts that
/// only THERE has, and some are phantoms.
void add_some(std::mt19937& random, World& here, World& there, int& number) {
  for (auto count = random() % 30; count > 0; --count) {
    const std::string base = text(random, ++number);
    const std::string next = base + text(random, ++number);
    switch (random() % 4) {
      case 0:
        give(here, file(base));
        break;
      case 1:
        give(here, file(base) + file_delta(next, base));
        break;
      case 2:
        give(there, file(base));
        give(here, file_delta(next, base));
        break;
      default:
        give(there, file(base));
        give(here, "igot " + sha3(base) + "\n");
        break;
    }
  }
}

void check_file(const std::filesystem::path& path) {
  const auto verified = quarry::repository::verify(path);
  REQUIRE(verified.has_value());
  CHECK(verified->faults.empty());
  CHECK(verified->order_dependent.empty());
}

void check_right(World& world) {
  world.repository().checkpoint();
  check_file(world.path());
}

/// A repository into which a client clones.
struct SessionClone {
  SessionClone() : path(folder.path() / "clone.fossil") {
    REQUIRE(quarry::repository::init_for_clone(path, "me").has_value());
    file = std::move(*Repository::open(path));
  }
  Result<void> from(World& server, const std::string& user = "g", bool with_private = false) {
    ClientOptions options;
    options.clone = true;
    options.user = user;
    options.password = "pw";
    options.with_private = with_private;
    ClientSession session(*file, options);
    auto done = talk(session, server);
    figures = session.figures();
    return done;
  }
  std::set<std::string> names() {
    std::set<std::string> all;
    REQUIRE(
        file->names().visit_names([&](const auto& name) { all.insert(std::string(name.str())); }));
    return all;
  }
  TemporaryFolder folder;
  std::filesystem::path path;
  std::unique_ptr<Repository> file;
  ClientFigures figures;
};

}  // namespace

TEST_CASE("a clone gets everything that the server has, in as many replies as it takes") {
  World server;
  std::mt19937 random(7);
  std::string cards;
  for (int i = 0; i < 150; ++i) cards += file(text(random, i));
  give(server, cards);
  server.sql("INSERT INTO config(name,value) VALUES('max-download','3000')");
  SessionClone clone;
  REQUIRE(clone.from(server).has_value());
  CHECK(clone.file->settings().project_code() == kProjectCode);
  CHECK(clone.file->settings().server_code() != kServerCode);
  CHECK(clone.figures.round_trips > 5);
  CHECK(clone.names().size() == server.values(kAllNames).size());
  check_file(clone.path);
}

TEST_CASE("a clone logs in once it knows the project code, and fails if that is refused") {
  World server;
  {
    SessionClone clone;
    CHECK(clone.from(server, "g").has_value());
  }
  for (const char* user : {"", "o", "nobody-like-that"}) {
    CAPTURE(user);
    SessionClone clone;
    const auto done = clone.from(server, user);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code == ErrorCode::kDenied);
    CHECK(done.error().message.starts_with("the server says: "));
  }
}

TEST_CASE("after a sync both sides have everything, whatever each had before") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    World client;
    World server;
    client.sql("INSERT INTO config(name,value) VALUES('max-upload','4000')");
    if (seed % 2 == 0) {
      server.sql("INSERT INTO config(name,value) VALUES('max-download','4000')");
    }
    int number = 0;
    for (int turn = 0; turn < 3; ++turn) {
      add_some(random, client, server, number);
      if (random() % 2 == 0) mark_unsent(client);
      add_some(random, server, client, number);
      const auto done = sync(client, server);
      REQUIRE_MESSAGE(done.has_value(), (done ? "" : done.error().message));
      CHECK(client.value("SELECT count(*) FROM phantom") == "0");
      CHECK(client.value("SELECT count(*) FROM unsent") == "0");
      // The server makes a cluster at the end of this sync and sends it in the next sync.
      REQUIRE(sync(client, server).has_value());
      CHECK(client.values(kAllNames) == server.values(kAllNames));
    }
    check_right(client);
    check_right(server);
  }
}

TEST_CASE("an artifact named only in a cluster is pulled") {
  World client;
  World server;
  std::string cards;
  for (int i = 0; i < 300; ++i) cards += file(fmt::format("text {}\n", i));
  give(server, cards);
  auto options = both_ways();
  options.push = false;
  REQUIRE(sync(client, server, options).has_value());
  CHECK(server.value("SELECT count(*)>0 FROM tagxref WHERE tagid=7") == "1");
  CHECK(client.values(kAllNames).size() >= 301);
  CHECK(client.value("SELECT count(*) FROM phantom") == "0");
}

TEST_CASE("a setting of the repository adds no cards to a request that a login signs") {
  World here, there;
  const std::string smuggled = "smuggled\n";
  here.sql("REPLACE INTO config(name, value) VALUES('cookie', 'x\n" + kPushCard + file(smuggled) +
           "')");
  ClientOptions options = both_ways();
  options.push = false;
  REQUIRE(sync(here, there, options));
  CHECK(there.value("SELECT count(*) FROM blob WHERE uuid='" + sha3(smuggled) + "'") == "0");
}

TEST_CASE("an artifact that nobody has is requested once, and the sync still ends") {
  World client;
  World server;
  give(client, "igot " + sha3("nowhere\n") + "\n");
  give(server, "igot " + sha3("nowhere either\n") + "\n");
  ClientSession session(client.repository(), both_ways());
  REQUIRE(talk(session, server).has_value());
  CHECK(session.figures().round_trips <= 3);
}

TEST_CASE("a long delta chain is pushed sources first, in as many requests as it takes") {
  World client;
  World server;
  // Each artifact is stored as a delta on the next one, so the last one must be sent first.
  std::vector<std::string> texts;
  std::string text;
  for (int i = 0; i < 300; ++i) texts.push_back(text += fmt::format("line {}\n", i));
  std::string cards = file(texts.back());
  for (std::size_t i = texts.size() - 1; i-- > 0;) cards += file_delta(texts[i], texts[i + 1]);
  give(client, cards);
  client.sql("INSERT INTO config(name,value) VALUES('max-upload','3000')");
  mark_unsent(client);
  ClientSession session(client.repository(), both_ways());
  REQUIRE(talk(session, server).has_value());
  CHECK(session.figures().round_trips > 5);
  CHECK(session.figures().artifacts_sent == client.values(kAllNames).size());
  CHECK(server.values(kAllNames) == client.values(kAllNames));
  check_right(server);
}

TEST_CASE("a cycle of deltas is not pushed, and the push ends") {
  World client;
  World server;
  const std::string one = text_of_lines(1), two = one + "and more\n";
  give(client, file(one) + file_delta(two, one));
  client.sql("INSERT INTO delta SELECT o.rid, t.rid FROM blob o, blob t WHERE o.uuid='" +
             sha3(one) + "' AND t.uuid='" + sha3(two) + "'");
  mark_unsent(client);
  const auto done = sync(client, server);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().code == ErrorCode::kCorrupt);
  CHECK(done.error().message.contains("is a cycle"));
}
