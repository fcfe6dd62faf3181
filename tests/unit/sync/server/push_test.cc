#include <doctest/doctest.h>
#include <fmt/core.h>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "quarry/artifact/digest.h"
#include "world.h"

using namespace quarry::sync;
namespace artifact = quarry::artifact;

namespace {

std::string content_of(World& world, std::string_view name) {
  const auto parsed = quarry::artifact::HashName::parse(name);
  auto snapshot = world.repository().snapshot();
  const auto info = world.repository().find(*parsed);
  REQUIRE(info);
  return world.repository().content(info->rid).value_or("(no content)");
}

const std::string kPhantom = sha3("a phantom");

}  // namespace

TEST_CASE("a pushed artifact is stored with its sender") {
  World world;
  CHECK(world.say_as("i", kVersion + kPushCard + file("one") + file("two")) == kServerVersion);
  CHECK(content_of(world, sha3("one")) == "one");
  CHECK(content_of(world, sha3("two")) == "two");
  CHECK(world.figures().artifacts_in == 2);
  CHECK(world.figures().operation == "push");
  CHECK(world.value("SELECT login||' '||rcvfrom.ipaddr FROM rcvfrom JOIN user USING(uid)"
                    " WHERE rcvid=(SELECT max(rcvid) FROM rcvfrom)") == "i 192.0.2.7");
  CHECK(world.value("SELECT nonce FROM rcvfrom WHERE rcvid=(SELECT max(rcvid) FROM rcvfrom)") ==
        sha1(kVersion + kPushCard + file("one") + file("two")));
}

TEST_CASE("an artifact that is already there is not stored again, and no receipt is recorded") {
  World world;
  world.say_as("i", kPushCard + file("one"));
  const std::string before = world.dump();
  CHECK(world.say_as("i", kVersion + kPushCard + file("one")) == kServerVersion);
  CHECK(world.figures().artifacts_in == 0);
  CHECK(world.dump() == before);
}

TEST_CASE("a push without a login leaves no nonce") {
  World world;
  world.sql("UPDATE user SET cap='i' WHERE login='nobody'");
  world.say(kPushCard + file("one"));
  CHECK(world.value("SELECT login||quote(nonce) FROM rcvfrom JOIN user USING(uid)"
                    " WHERE rcvid=(SELECT max(rcvid) FROM rcvfrom)") == "nobodyNULL");
}

TEST_CASE("a compressed file and one named by SHA1 are stored") {
  World world;
  world.say_as("i",
               kPushCard + cfile("compressed text") + fmt::format("file {} 3\nold", sha1("old")));
  CHECK(content_of(world, sha3("compressed text")) == "compressed text");
  CHECK(content_of(world, sha1("old")) == "old");
}

TEST_CASE("a delta that arrives before its source waits for it, and the source is requested") {
  World world;
  const std::string base(300, 'b');
  CHECK(world.say_as("i", kPushCard + file_delta(base + "!", base)) == gimme(sha3(base)));
  CHECK(world.say_as("i", kPushCard + file(base)).empty());
  CHECK(content_of(world, sha3(base + "!")) == base + "!");
}

TEST_CASE("an artifact that only the client has becomes a phantom and is requested") {
  World world;
  CHECK(world.say_as("i", kVersion + kPushCard + igot(kPhantom)) ==
        kServerVersion + gimme(kPhantom));
  CHECK(world.value("SELECT count(*) FROM phantom") == "1");
  CHECK(world.say_as("i", kPushCard) == gimme(kPhantom));
  CHECK(world.say_as("i", kPushCard + file("a phantom")).empty());
  CHECK(world.value("SELECT count(*) FROM phantom") == "0");
}

TEST_CASE("an artifact that the request brings, or itself requests, is not requested") {
  World world;
  CHECK(world
            .say_as("i", kPullCard + kPushCard + igot(world.initial()) + igot(kPhantom) +
                             gimme(kPhantom))
            .empty());
  CHECK(world.say_as("i", kPushCard + igot(kPhantom) + file("a phantom") + igot(kPhantom)).empty());
  CHECK(world.say_as("i", kPushCard + igot(kPhantom)).empty());
}

TEST_CASE("no more artifacts are requested at once than allowed") {
  World world;
  std::string names;
  for (int i = 0; i < 501; ++i) names += igot(sha3(fmt::format("phantom {}", i)));
  CHECK(count_cards(world.say_as("i", kPushCard + names), "gimme") == 500);
  CHECK(world.value("SELECT count(*) FROM phantom") == "501");
  world.options.max_gimme = 10;
  CHECK(count_cards(world.say_as("i", kPushCard + names), "gimme") == 10);
}

TEST_CASE("an igot before the push card, or without one, is ignored") {
  World world;
  CHECK(world.say_as("i", igot(kPhantom) + kPushCard).empty());
  CHECK(world.say_as("i", kVersion + igot(kPhantom)) == kServerVersion);
  CHECK(world.value("SELECT count(*) FROM phantom") == "0");
}

TEST_CASE("a client that may pull but not push gets the message that stops it pushing") {
  World world;
  const std::string names = igot(world.initial());
  CHECK(world.say_as("o", kPullCard + kPushCard + igot(kPhantom)) ==
        "message pull\\sonly\\s-\\snot\\sauthorized\\sto\\spush\n" + names);
  CHECK(world.figures().operation == "sync");
  CHECK(world.error_as("o", kPushCard + kPullCard) == "not authorized to write");
  CHECK(world.error_as("o", kPullCard + kPushCard + file("one")) == "not authorized to write");
}

TEST_CASE("pushing, pulling and sending files need their rights") {
  World world;
  CHECK(world.error_of(kPushCard) == "not authorized to write");
  CHECK(world.error_of(kPullCard) == "not authorized to read");
  CHECK(world.error_as("g", kPushCard) == "not authorized to write");
  CHECK(world.error_as("g", kPullCard) == "not authorized to read");
  CHECK(world.error_as("i", file("one")) == "not authorized to write");
  CHECK(world.error_as("i", "private\n" + kPushCard + file("one")) ==
        "not authorized to sync private content");
  CHECK(world.error_as("i", "config /user 3\nabc\n") == "not authorized to push configuration");
}

TEST_CASE("the project code must be the same, to the letter") {
  World world;
  for (const char* verb : {"pull", "push"}) {
    for (const std::string& code : {std::string(40, '2'), std::string("1"), kProjectCode + "1"}) {
      CHECK(world.error_as("i", fmt::format("{} x {}\n", verb, code)) == "wrong project");
    }
  }
  world.sql("UPDATE config SET value='" + std::string(40, 'a') + "' WHERE name='project-code'");
  CHECK(world.error_of(fmt::format("pull x {}\n", std::string(40, 'A'))) == "wrong project");
}

TEST_CASE("a client with the server's own code is refused only if configured") {
  World world;
  const std::string card = "pull " + kServerCode + " " + kProjectCode + "\n";
  CHECK(world.say_as("i", card) == igot(world.initial()));
  world.options.refuse_own_server_code = true;
  CHECK(world.error_as("i", card).starts_with("server loop"));
  CHECK(world.say_as("i", kPullCard) == igot(world.initial()));
}

TEST_CASE("private applies only to the next file") {
  World world;
  world.say_as("ix", kPushCard + "private\n" + igot(kPhantom) + file("one") + file("two"));
  CHECK(world.value("SELECT uuid FROM private JOIN blob USING(rid)") == sha3("one"));
  CHECK(world.value("SELECT count(*) FROM private") == "1");
  CHECK(world.value("SELECT count(*) FROM unclustered JOIN blob USING(rid) WHERE uuid='" +
                    sha3("one") + "'") == "0");
}

TEST_CASE("a private artifact that a client has as a public one becomes public") {
  World world;
  world.say_as("ix", kPushCard + "private\n" + file("one") + "private\n" + file("two"));
  CHECK(world.say_as("ix", kPushCard + igot(sha3("one"))).empty());
  CHECK(world.say_as("i", kPushCard + file("two")).empty());
  CHECK(world.value("SELECT count(*) FROM private") == "0");
}

TEST_CASE("naming a private artifact does not publish it: it has to be sent") {
  World world;
  world.say_as("ix", kPushCard + "private\n" + file("one"));
  const std::string before = world.dump();
  CHECK(world.say_as("i", kPushCard + igot(sha3("one"))) == gimme(sha3("one")));
  // The client must send the content itself. Neither wrong content nor a delta on the artifact
  // itself is sufficient.
  world.say_as("i", kPushCard + fmt::format("file {} 3\nxyz", sha3("one")));
  world.say_as("i",
               kPushCard + fmt::format("file {} {} 10\n3\n3@0,1hUUU;", sha3("one"), sha3("one")));
  CHECK(world.value("SELECT count(*) FROM private") == "1");
  CHECK(world.say_as("o", kPullCard + gimme(sha3("one"))).find("one") == std::string::npos);
  CHECK(before == world.dump());
  CHECK(world.say_as("i", kPushCard + file("one")).empty());
  CHECK(world.value("SELECT count(*) FROM private") == "0");
}

TEST_CASE(
    "an artifact that is private at the client and a phantom here becomes a private phantom") {
  for (const char* user : {"i", "ix"}) {
    CAPTURE(user);
    World world;
    CHECK(world.say_as("i", kPushCard + igot(kPhantom)) == gimme(kPhantom));
    CHECK(world.say_as(user, kPushCard + igot(kPhantom, " 1")).empty());
    CHECK(world.value("SELECT uuid FROM private JOIN blob USING(rid)") == kPhantom);
    CHECK(world.value("SELECT count(*) FROM unclustered JOIN phantom USING(rid)") == "0");
    // A later public announcement makes the server request the artifact again.
    CHECK(world.say_as("i", kPushCard + igot(kPhantom)) == gimme(kPhantom));
    world.say_as(user, kPushCard + igot(kPhantom, " 1"));
    CHECK(world.say_as("i", kPushCard + file("a phantom")).empty());
    CHECK(world.value("SELECT count(*) FROM private") == "0");
    CHECK(world.say_as("o", kPullCard).find(igot(kPhantom)) != std::string::npos);
  }
}

TEST_CASE("a delta on itself is an error of the client") {
  World world;
  world.say_as("i", kPushCard + igot(kPhantom) + file("one"));
  const std::string delta = artifact::delta_create("x", "x");
  for (const std::string& name : {sha3("new"), kPhantom, sha3("one")}) {
    for (const std::string& card :
         {fmt::format("file {0} {0} {1}\n{2}", name, delta.size(), delta),
          fmt::format("cfile {0} {0} 1 {1}\n{2}\n", name, artifact::blob_compress(delta).size(),
                      artifact::blob_compress(delta))}) {
      CAPTURE(card);
      CHECK(world.error_as("i", kPushCard + card) ==
            fmt::format("artifact {}: its delta is based on the artifact itself", name));
      CHECK_FALSE(world.figures().is_fault);
    }
  }
}

TEST_CASE("a public artifact is never stored as a delta on a private one") {
  const std::string secret(1000, 's');
  const std::string open = secret + " and more";
  const auto is_whole = [&](World& world) {
    return world.value("SELECT count(*) FROM delta") == "0" &&
           world.value("SELECT count(*) FROM private") == "1";
  };
  World after;
  after.say_as("ix", kPushCard + "private\n" + file(secret));
  after.say_as("i", kPushCard + file_delta(open, secret));
  after.say_as("i", kPushCard + file(open));
  CHECK(is_whole(after));
  World before;
  before.say_as("ix", kPushCard + igot(sha3(secret), " 1"));
  before.say_as("i", kPushCard + file_delta(open, secret) + file(open));
  before.say_as("ix", kPushCard + "private\n" + file(secret));
  CHECK(is_whole(before));
  World published;
  published.say_as("ix",
                   kPushCard + "private\n" + file(secret) + "private\n" + file_delta(open, secret));
  CHECK(published.value("SELECT count(*) FROM delta") == "1");
  published.say_as("ix", kPushCard + igot(sha3(open)));
  CHECK(is_whole(published));
}

TEST_CASE("a delta that waits for its source does not delay other artifacts") {
  World world;
  const std::string source(1000, 's');
  const std::string target = source + " and more";
  world.say_as("i", kPushCard + file_delta(target, source) + file("one"));
  const std::string pulled = world.say_as("o", kVersion + kPullCard);
  CHECK(pulled.find(sha3(target)) == std::string::npos);
  CHECK(pulled.find(igot(sha3("one"))) != std::string::npos);
  const std::string asked =
      world.say_as("o", kVersion + kPullCard + gimme(sha3(target)) + gimme(sha3("one")));
  CHECK(count_cards(asked, "file") == 1);
  CHECK(count_cards(asked, "error") == 0);
  for (const char* clone : {"clone 3 1\n", "clone 2 1\n", "clone\n"}) {
    const std::string cloned = world.say_as("g", kVersion + clone);
    CHECK(cloned.find(sha3(target)) == std::string::npos);
    CHECK(count_cards(cloned, "error") == 0);
  }
  world.say_as("i", kPushCard + file(source));
  CHECK(world.say_as("o", kVersion + kPullCard).find(igot(sha3(target))) != std::string::npos);
}

TEST_CASE("the full artifact is requested instead of a delta on a shunned one") {
  World world;
  const std::string source(1000, 's');
  const std::string target = source + " and more";
  world.sql("INSERT INTO shun(uuid) VALUES('" + sha3(source) + "')");
  CHECK(world.say_as("i", kPushCard + file_delta(target, source)) == gimme(sha3(target)));
  CHECK(world.value("SELECT count(*) FROM blob WHERE uuid='" + sha3(source) + "'") == "0");
  CHECK(count_cards(world.say_as("g", kVersion + "clone 3 1\n"), "error") == 0);
  CHECK(world.say_as("i", kPushCard + file(target)).empty());
  CHECK(world.value("SELECT count(*) FROM phantom") == "0");
}

TEST_CASE("a delta on a private artifact reveals nothing of it: the full artifact is requested") {
  World world;
  const std::string secret(1000, 's');
  const std::string right = secret + " and more";
  world.say_as("ix", kPushCard + "private\n" + file(secret));
  const std::string guess = file_delta(right, secret);
  CHECK(world.say_as("i", kPushCard + guess) == gimme(sha3(right)));
  CHECK(world.say_as("i", kPushCard + file(right)).empty());
  // A wrong guess gets the same reply.
  std::string wrong = guess;
  wrong.replace(guess.find(sha3(right)), 64, kPhantom);
  CHECK(world.say_as("i", kPushCard + wrong) == gimme(kPhantom));
  CHECK(world.value("SELECT count(*) FROM delta") == "0");
}

TEST_CASE("an artifact that would crash fossil is rejected") {
  World world;
  const std::string cards =
      fmt::format("D 2020-01-01T00:00:00\nT +parent {}\nU w\n", world.initial());
  const std::string crashing = fmt::format("{}Z {}\n", cards, quarry::artifact::md5_hex(cards));
  CHECK(world.error_as("i", kPushCard + file(crashing)).ends_with("which makes fossil crash"));
}

TEST_CASE("no client can make a public artifact private, nor name private ones without rights") {
  World world;
  world.say_as("i", kPushCard + file("one"));
  const std::string before = world.dump();
  CHECK(world.say_as("i", kPushCard + igot(sha3("one"), " 1") + igot(kPhantom, " 1")).empty());
  CHECK(world.say_as("ix", kPushCard + igot(sha3("one"), " 1")).empty());
  CHECK(world.say_as("ix", kPushCard + "private\n" + file("one")).empty());
  CHECK(world.dump() == before);
}

TEST_CASE("an unknown private artifact becomes a private phantom for users who may see it") {
  World world;
  CHECK(world.say_as("i", kPushCard + igot(kPhantom, " 1")).empty());
  CHECK(world.value("SELECT count(*) FROM phantom") == "0");
  CHECK(world.say_as("ix", kPushCard + igot(kPhantom, " 1")).empty());
  CHECK(world.value("SELECT count(*) FROM phantom JOIN private USING(rid)") == "1");
  CHECK(world.say_as("i", kPushCard).empty());
  CHECK(world.say_as("ix", "pragma send-private\n" + kPushCard) == gimme(kPhantom));
}

TEST_CASE("a shunned artifact is not accepted") {
  World world;
  world.sql("INSERT INTO shun(uuid) VALUES('" + sha3("one") + "')");
  const std::string before = world.dump();
  CHECK(world.say_as("i", kPushCard + file("one") + igot(sha3("one"))).empty());
  CHECK(world.dump() == before);
}

TEST_CASE("hash policy 4 refuses SHA1 names, and policy 1 becomes 2 with the first SHA3 name") {
  World world;
  const std::string old = fmt::format("file {} 3\nold", sha1("old"));
  world.sql("REPLACE INTO config(name,value) VALUES('hash-policy',4)");
  CHECK(world.say_as("i", kPushCard + old + igot(sha1("other"))).empty());
  CHECK(world.value("SELECT count(*) FROM blob") == "1");
  world.sql("REPLACE INTO config(name,value) VALUES('hash-policy',1)");
  world.say_as("i", kPushCard + old);
  CHECK(world.value("SELECT value FROM config WHERE name='hash-policy'") == "1");
  world.say_as("i", kPushCard + file("new"));
  CHECK(world.value("SELECT value FROM config WHERE name='hash-policy'") == "2");
}

TEST_CASE("hooks wait while more artifacts are requested, and no longer") {
  World world;
  const std::string embargo = "SELECT value FROM config WHERE name='hook-embargo'";
  world.say_as("i", kPushCard + file("one"));
  CHECK(world.value(embargo) == "(none)");
  world.say_as("i", kPushCard + igot(kPhantom));
  CHECK(world.value(embargo) == "1700000060");
  world.say_as("i", kPushCard + file("a phantom"));
  CHECK(world.value(embargo) == "(none)");
  world.sql("INSERT INTO config(name,value) VALUES('hook-embargo','1')");
  world.say_as("i", kPushCard);
  CHECK(world.value(embargo) == "(none)");
}

TEST_CASE("a complete push ends in clusters, an incomplete one does not") {
  World world;
  std::string many = kPushCard;
  for (int i = 0; i < 120; ++i) many += file(fmt::format("text {}", i));
  const std::string clusters =
      "SELECT count(*) FROM tagxref JOIN tag USING(tagid) WHERE tagname='cluster'";
  world.say_as("i", many + igot(kPhantom));
  CHECK(world.value(clusters) == "0");
  world.say_as("i", kPushCard + file("a phantom"));
  CHECK(world.value(clusters) == "1");
}

TEST_CASE(
    "a client whose push has to wait for another writer is asked to retry, and nothing is stored") {
  World world;
  auto other = quarry::repository::Repository::open(world.path());
  REQUIRE(other.has_value());
  {
    auto receipt = (*other)->receive();
    REQUIRE(receipt.has_value());
    CHECK(world.refusal_as("i", kPushCard + file("one"))
              .starts_with("the repository is busy: try again"));
    // A push without new artifacts does not wait for the other writer.
    CHECK(world.say_as("i", kPullCard + kPushCard + igot(world.initial())).empty());
    CHECK(world.say_as("i", kPullCard) == igot(world.initial()));
  }
  CHECK(world.say_as("i", kPushCard + file("one")).empty());
}

TEST_CASE("a pull makes no cluster while another client writes, and does not wait") {
  World world;
  std::string rows;
  for (int i = 0; i < 110; ++i) {
    const std::string text = fmt::format("{}", i);
    rows += "INSERT INTO blob(rcvid,size,uuid,content) VALUES(1,0,'" + sha3(text) +
            "',x'00000000789c030000000001'); INSERT INTO unclustered VALUES(last_insert_rowid());";
  }
  world.sql(rows);
  auto other = quarry::repository::Repository::open(world.path());
  auto receipt = (*other)->receive();
  REQUIRE(receipt.has_value());
  CHECK(count_cards(world.say_as("o", kPullCard), "igot") == 111);
}
