// Sends the same requests to the program (`fossil http`) and to a session, on copies of one file:
// the replies must have the same cards in any order, and the files the same content.
//
// Intended differences are tested elsewhere: errors (the program continues after some, and keeps
// what it has stored), and what the program does with compressed files.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cards/card_reader.h"
#include "world.h"

using namespace quarry::sync;
namespace fs = std::filesystem;

namespace {

bool have_program() {
  static const bool have = std::system("fossil version >/dev/null 2>&1") == 0;
  if (!have) MESSAGE("skipped: there is no fossil to compare with");
  return have;
}

/// The body of the program's reply to BODY.
std::string ask_program(const fs::path& repository, std::string_view body) {
  const fs::path folder = repository.parent_path();
  const fs::path in = folder / "request";
  const fs::path out = folder / "reply";
  std::ofstream(in, std::ios::binary)
      << "POST / HTTP/1.0\r\nContent-Type: application/x-fossil-debug\r\nContent-Length: "
      << body.size() << "\r\n\r\n"
      << body;
  const std::string command =
      fmt::format("HOME='{}' USER=root fossil http '{}' --ipaddr 192.0.2.7 <'{}' >'{}' 2>/dev/null",
                  folder.string(), repository.string(), in.string(), out.string());
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string reply = read_bytes(out);
  REQUIRE(reply.starts_with("HTTP/1.0 200 OK\r\n"));
  return reply.substr(reply.find("\r\n\r\n") + 4);
}

/// The cards of a reply with their payload, sorted, without comments.
std::vector<std::string> cards_of(std::string_view reply) {
  std::vector<std::string> cards;
  while (!reply.empty()) {
    const std::size_t end = reply.find('\n') + 1;
    std::string card(reply.substr(0, end));
    reply.remove_prefix(end);
    if (card.starts_with("file ") || card.starts_with("cfile ")) {
      const std::size_t size = std::stoul(card.substr(card.rfind(' ')));
      card += reply.substr(0, size);
      reply.remove_prefix(size);
    }
    // Each has its own version.
    if (card.starts_with("pragma server-version ")) continue;
    if (card != "\n" && !card.starts_with("#")) cards.push_back(card);
  }
  std::ranges::sort(cards);
  return cards;
}

const std::vector<std::string> kCompared = {
    "SELECT uuid,size,rcvid>0 FROM blob ORDER BY 1",
    "SELECT uuid FROM phantom JOIN blob USING(rid) ORDER BY 1",
    "SELECT uuid FROM private JOIN blob USING(rid) ORDER BY 1",
    // The program keeps and skips those that become private later.
    "SELECT uuid FROM unclustered JOIN blob USING(rid) WHERE rid NOT IN private ORDER BY 1",
    "SELECT uid,nonce,ipaddr FROM rcvfrom ORDER BY rcvid",
    "SELECT value FROM config WHERE name='hash-policy'",
};

/// Two copies of one repository, one for each side.
class Pair {
 public:
  World ours;
  World programs;

  void sql(const std::string& statements) {
    ours.sql(statements);
    programs.sql(statements);
  }

  void same(std::string_view body) {
    CAPTURE(body);
    const std::string theirs = ask_program(programs.path(), body);
    REQUIRE_FALSE(theirs.starts_with("error "));
    CHECK(cards_of(ours.say(body)) == cards_of(theirs));
    for (const std::string& query : kCompared) {
      CAPTURE(query);
      CHECK(ours.values(query) == programs.values(query));
    }
  }

  void same_as(std::string_view user, std::string_view body) {
    same(login(user, secret_of(user, "pw"), body));
  }

  /// The first line of an error, which must be the same; the rest may differ.
  void same_error(std::string_view body) {
    CAPTURE(body);
    const std::string theirs = ask_program(programs.path(), body);
    const std::string mine = ours.say(body);
    const std::size_t at = theirs.find("error ");
    REQUIRE(at != std::string::npos);
    const std::size_t mine_at = mine.find("error ");
    REQUIRE(mine_at != std::string::npos);
    CHECK(mine.substr(mine_at, mine.find('\n', mine_at)) ==
          theirs.substr(at, theirs.find('\n', at) - at) + (mine_at == 0 ? "" : "\n"));
  }
};

std::string sha1_file(std::string_view content) {
  return fmt::format("file {} {}\n{}", sha1(content), content.size(), content);
}

const std::string kLong(400, 'l');

}  // namespace

TEST_CASE("the program agrees on users' rights") {
  if (!have_program()) return;
  Pair pair;
  pair.sql("UPDATE user SET cap='o' WHERE login='reader'");
  const std::string clone = kVersion + "clone 3 1\n";
  for (const char* user : {"g", "a", "s"}) pair.same_as(user, clone);
  for (const char* user : {"o", "i", "a", "s", "u", "v"}) pair.same_as(user, kVersion + kPullCard);
  for (const char* user : {"o", "u"}) pair.same_as(user, kVersion + kPullCard + kPushCard);
  for (const char* user : {"i", "a", "s", "v"})
    pair.same_as(user, kVersion + kPushCard + kPullCard);
  pair.same("login nobody " + sha1("# x\n") + " x\n# x\n");
  pair.same("login anonymous " + sha1("# x\n") + " x\n# x\n");
}

TEST_CASE("the program agrees on errors") {
  if (!have_program()) return;
  Pair pair;
  for (const std::string& body : std::vector<std::string>{"clone 3 1\n",
                                                          "clone\n",
                                                          kPullCard,
                                                          kPushCard,
                                                          "login\n",
                                                          "login a b\n",
                                                          "login a b c\n",
                                                          "login nobody x y\n",
                                                          "foo\n",
                                                          "foo bar\n",
                                                          "igot\n",
                                                          "igot abc\n",
                                                          "gimme a b\n",
                                                          "push a\n",
                                                          "pull a b c\n",
                                                          "cookie\n",
                                                          "pragma\n",
                                                          "private\n",
                                                          "pragma send-private\n",
                                                          "error x\n",
                                                          "config /x 3\nabc\n",
                                                          "reqconfig\n"}) {
    pair.same_error(body);
  }
}

TEST_CASE("the program agrees on a push and the sync after it") {
  if (!have_program()) return;
  Pair pair;
  pair.same_as("i", kVersion + kPushCard + file("one") + sha1_file("two\n") + file(kLong));
  for (const char* clone : {"clone 2 1\n", "clone 2 3\n", "clone\n", "clone 1 1\n"}) {
    pair.same_as("g", kVersion + clone);
  }
  pair.same_as("i", kVersion + kPushCard + file("one") + file_delta(kLong + "!", kLong));
  pair.same_as("o", kVersion + kPullCard + gimme(sha3("one")) + gimme(sha1("two\n")));
  pair.same_as("o", kVersion + kPullCard + gimme(sha3("unknown")));
  pair.same_as("i", kVersion + kPullCard + kPushCard + igot(sha3("one")) + igot(sha3(kLong)));
}

TEST_CASE("the program agrees on phantoms") {
  if (!have_program()) return;
  Pair pair;
  const std::string base = kLong + "base";
  pair.same_as("i", kVersion + kPushCard + igot(sha3("phantom")) + igot(sha1("phantom")));
  pair.same_as("i", kVersion + kPushCard);
  pair.same_as("i", kVersion + kPushCard + kPullCard + gimme(sha1("phantom")));
  pair.same_as("i", kVersion + kPushCard + file("phantom") + sha1_file("phantom"));
  pair.same_as("i", kVersion + kPushCard + file_delta(base + "!", base));
  pair.same_as("i", kVersion + kPushCard + file(base));
  pair.same_as("i", kVersion + kPushCard + igot(sha3("both")) + file("both"));
  pair.same_as("o", kVersion + kPullCard + igot(sha3("never")));
}

TEST_CASE("the program agrees on private artifacts") {
  if (!have_program()) return;
  Pair pair;
  const std::string send_private = "pragma send-private\n";
  pair.same_as("ix", kVersion + kPushCard + "private\n" + file("hidden") + file("open"));
  pair.same_as("ix", kVersion + send_private + kPullCard);
  pair.same_as("o", kVersion + kPullCard + gimme(sha3("hidden")));
  pair.same_as("ix", kVersion + kPullCard + gimme(sha3("hidden")));
  pair.same_as("i", kVersion + kPushCard + igot(sha3("other"), " 1"));
  pair.same_as("ix", kVersion + kPushCard + igot(sha3("other"), " 1"));
  pair.same_as("ix", kVersion + send_private + kPushCard + igot(sha3("another"), " 1"));
  pair.same_as("i", kVersion + kPushCard + igot(sha3("public")));
  pair.same_as("i", kVersion + kPushCard + igot(sha3("public"), " 1"));
  pair.same_as("i", kVersion + kPushCard + igot(sha3("public")));
  pair.same_as("i",
               kVersion + kPushCard + igot(sha3("public"), " 1") + igot(sha3("brand new"), " 1"));
  pair.same_as("g", kVersion + "clone\n");
  pair.same_as("g", kVersion + "clone 2 1\n");
}

TEST_CASE("the program agrees on a user who may clone but not read") {
  if (!have_program()) return;
  Pair pair;
  pair.same_as("i", kVersion + kPushCard + file("one"));
  pair.sql("UPDATE user SET cap='g' WHERE login='nobody'");
  for (const std::string& body :
       std::vector<std::string>{gimme(sha3("one")), "clone 2 1\n" + gimme(sha3("one")),
                                "reqconfig /all\n", "pragma uv-hash " + sha1("") + "\n",
                                "pragma req-links\n", "pragma send-catalog\n", igot(sha3("one"))}) {
    pair.same(kVersion + body);
  }
  for (const std::string& body : std::vector<std::string>{kPullCard, kPullCard + gimme(sha3("one")),
                                                          kPushCard, file("two")}) {
    pair.same_error(body);
  }
}

TEST_CASE("the program agrees on a schema that is newer than it knows") {
  if (!have_program()) return;
  for (const char* schema : {"2015-01-25", "2026-01-01 12:00", "9"}) {
    CAPTURE(schema);
    Pair pair;
    pair.sql(fmt::format("UPDATE config SET value='{}' WHERE name='aux-schema'", schema));
    for (const std::string& body : std::vector<std::string>{"", kPullCard, "clone 3 1\n"}) {
      pair.same_error(body);
    }
  }
}

TEST_CASE("the program agrees on hash policies") {
  if (!have_program()) return;
  for (const int policy : {0, 1, 2, 3, 4}) {
    CAPTURE(policy);
    Pair pair;
    pair.sql(fmt::format("REPLACE INTO config(name,value) VALUES('hash-policy',{})", policy));
    pair.same_as("i", kVersion + kPushCard + sha1_file("old") + igot(sha1("other")));
    pair.same_as("i", kVersion + kPushCard + file("new"));
  }
}

TEST_CASE("the program agrees on small things") {
  if (!have_program()) return;
  Pair pair;
  for (const std::string& body :
       std::vector<std::string>{"", "# x\n", kVersion, "pragma client-version 5\n", "cookie a\n",
                                "pragma a b c d\n", "  pragma x y \t\n", "reqconfig /nothing\n"}) {
    pair.same(body);
  }
  for (const std::string& body :
       std::vector<std::string>{kPullCard + kPullCard, kPushCard + kPushCard, "clone 3 99\n",
                                "clone 3 0\n", "clone 9 1\n", "clone 3 1\n" + kPullCard}) {
    pair.same_as("s", kVersion + body);
  }
}
