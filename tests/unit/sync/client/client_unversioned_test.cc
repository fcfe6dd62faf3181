#include <doctest/doctest.h>
#include <fmt/core.h>

#include "cards/body.h"
#include "quarry/sync/client_session.h"
#include "world.h"

using namespace quarry::sync;

namespace {

ClientOptions with_files() {
  ClientOptions options;
  options.pull = options.push = options.with_unversioned = true;
  return options;
}

std::string client_uvfile(const std::string& name, const std::string& content, int mtime = 100) {
  return fmt::format("uvfile {} {} {} {} 0\n{}", name, mtime, sha3(content), content.size(),
                     content);
}

}  // namespace

TEST_CASE("an invalid unversioned file from a server changes nothing") {
  World client;
  ClientSession session(client.repository(), with_files());
  REQUIRE(session.next_request().has_value());
  const std::string catalogue = "pragma uv-push-ok\nuvigot a 100 " + sha3("one\n") + " 4\n";
  REQUIRE(session.take_reply("application/x-fossil-debug", catalogue).has_value());
  REQUIRE_FALSE(session.is_done());
  REQUIRE(session.next_request().has_value());
  const std::string before = client.dump();
  std::string reply;
  SUBCASE("other content") {
    reply = fmt::format("uvfile a 100 {} 4 0\ntwo\n", sha3("one\n"));
  }
  SUBCASE("an invalid hash") {
    reply = "uvfile a 100 xyz 4 0\none\n";
  }
  SUBCASE("a size beyond the end") {
    reply = "uvfile a 100 " + sha3("one\n") + " 40 0\none\n";
  }
  CHECK_FALSE(session.take_reply("application/x-fossil-debug", reply).has_value());
  CHECK(client.dump() == before);
}

TEST_CASE("unversioned files that were not requested, or have invalid paths, are rejected") {
  World client;
  ClientSession session(client.repository(), with_files());
  REQUIRE(session.next_request().has_value());
  const std::string reply =
      "pragma uv-push-ok\nuvigot ../a 100 " + sha3("one\n") + " 4\n" + client_uvfile("b", "two\n");
  REQUIRE(session.take_reply("application/x-fossil-debug", reply).has_value());
  CHECK(session.is_done());
  CHECK(client.repository().unversioned().all().empty());
}

TEST_CASE("a server that never sends an unversioned file that it lists is not asked forever") {
  for (const bool repeats_catalogue : {false, true}) {
    World client;
    ClientSession session(client.repository(), with_files());
    const std::string reply = "pragma uv-push-ok\nuvigot a 100 " + sha3("one\n") + " 4\n";
    int rounds = 0;
    for (; !session.is_done() && rounds < 20; ++rounds) {
      REQUIRE(session.next_request().has_value());
      const std::string body = rounds == 0 || repeats_catalogue ? reply : "";
      REQUIRE(session.take_reply("application/x-fossil-debug", body).has_value());
    }
    CHECK(rounds == 2);
  }
}

TEST_CASE(
    "a clone requests the unversioned files of a catalogue that it did not request, each once") {
  World client;
  ClientOptions options;
  options.clone = true;
  SUBCASE("with the option to sync them") {
    options.with_unversioned = true;
  }
  SUBCASE("without that option") {}
  ClientSession session(client.repository(), options);
  REQUIRE(session.next_request().has_value());
  const std::string catalogue = "pragma uv-pull-only\nuvigot a 100 " + sha3("one\n") + " 4\n";
  const auto take = [&](const std::string& reply) {
    return session.take_reply("application/x-fossil-debug", reply).has_value();
  };
  const auto next = [&] {
    const auto request = session.next_request();
    REQUIRE(request.has_value());
    std::string storage;
    const auto cards = decode_body(BodyFormat::kCompressed, request->body, 100000, storage);
    REQUIRE(cards.has_value());
    return std::string(*cards);
  };
  const std::string push = "push " + kServerCode + " " + kProjectCode + "\n";
  REQUIRE(take(catalogue + "clone_seqno 5\n" + push));
  CHECK(count_cards(next(), "uvgimme") == 0);
  REQUIRE(take(catalogue + "clone_seqno 0\n" + push));
  const std::string cards = next();
  CHECK(count_cards(cards, "uvgimme") == 1);
  CHECK(count_cards(cards, "pragma uv-hash") == 0);
  REQUIRE(take(catalogue + client_uvfile("a", "one\n")));
  CHECK(session.is_done());
  CHECK(client.repository().unversioned().all().size() == 1);
}
