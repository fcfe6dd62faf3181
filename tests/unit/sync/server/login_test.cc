#include <doctest/doctest.h>
#include <fmt/core.h>

#include "server/capabilities.h"
#include "world.h"

using namespace quarry::sync;

namespace {

const std::string kFailed = "login failed";

/// Whether BODY is permitted to read: the reply names the initial check-in.
bool reads(World& world, const std::string& body) {
  return world.say(body) == "igot " + world.initial() + "\n";
}

std::string cookie_signed_by(std::string_view user, std::string_view secret,
                             std::string_view body) {
  const std::string nonce = sha1(body);
  return "other=1; x-f-l-c=login+" + std::string(user) + "+" + nonce + "%20" +
         sha1(nonce + std::string(secret)) + "; last=x";
}

}  // namespace

TEST_CASE("letters give rights, and some imply others") {
  const auto of = [](std::string_view letters) { return Capabilities::of_letters(letters); };
  CHECK(of("i").may(Right::kRead));
  CHECK_FALSE(of("o").may(Right::kWrite));
  for (const char* letter : {"a", "s"}) {
    for (const Right right :
         {Right::kClone, Right::kRead, Right::kWrite, Right::kAdmin, Right::kReadAddresses}) {
      CHECK(of(letter).may(right));
    }
    CHECK_FALSE(of(letter).may(Right::kPrivate));
    CHECK_FALSE(of(letter).may(Right::kWriteUnversioned));
  }
  CHECK(of("s").may(Right::kSetup));
  CHECK_FALSE(of("a").may(Right::kSetup));
  CHECK(of("hmnc") == Capabilities());
}

TEST_CASE("the right password logs in") {
  World world;
  CHECK(reads(world, login("o", secret_of("o", "pw"), kPullCard)));
  CHECK(world.figures().user == "o");
}

TEST_CASE("a wrong password, an unknown user and a user without a password get the same error") {
  World world;
  world.add_user("empty", "s", "");
  CHECK(world.error_of(login("o", secret_of("o", "wrong"), kPullCard)) == kFailed);
  CHECK(world.error_of(login("x", secret_of("x", "pw"), kPullCard)) == kFailed);
  CHECK(world.error_of(login("empty", "", kPullCard)) == kFailed);
  CHECK(world.error_of(login("empty", secret_of("empty", ""), kPullCard)) == kFailed);
}

TEST_CASE("a login signs everything after it, to the byte") {
  World world;
  const std::string good = login("o", secret_of("o", "pw"), kPullCard);
  CHECK(world.error_of(good + "#") == kFailed);
  CHECK(world.error_of(good.substr(0, good.size() - 1)) == kFailed);
  CHECK(reads(world, "# before it anything may come\n\n" + good));
}

TEST_CASE("nobody and anonymous need no signature but a correct nonce") {
  World world;
  world.sql("UPDATE user SET cap='o' WHERE login='nobody'");
  for (const std::string user : {"nobody", "anonymous"}) {
    CHECK(reads(world, "login " + user + " " + sha1(kPullCard) + " x\n" + kPullCard));
    CHECK(world.figures().user == "nobody");
    CHECK(world.error_of("login " + user + " " + sha1("x") + " x\n" + kPullCard) == kFailed);
  }
}

TEST_CASE("the rights of anonymous do not count") {
  World world;
  CHECK(world.error_of("login anonymous " + sha1(kPullCard) + " x\n" + kPullCard) ==
        "not authorized to read");
}

TEST_CASE("developer and reader never log in") {
  World world;
  for (const std::string user : {"developer", "reader"}) {
    world.sql("UPDATE user SET pw='" + secret_of(user, "pw") + "' WHERE login='" + user + "'");
    CHECK(world.error_as(user, kPullCard) == kFailed);
  }
}

TEST_CASE("a clear password in an old file is accepted unchanged and as its hash") {
  World world;
  world.add_user("old", "o", "hello");
  CHECK(reads(world, login("old", "hello", kPullCard)));
  CHECK(reads(world, login("old", secret_of("old", "hello"), kPullCard)));
  CHECK(world.error_of(login("old", secret_of("old", "hullo"), kPullCard)) == kFailed);
}

TEST_CASE("a hashed secret is not a password") {
  World world;
  const std::string secret = secret_of("o", "pw");
  CHECK(world.error_of(login("o", secret_of("o", secret), kPullCard)) == kFailed);
}

TEST_CASE("a nonce of 64 digits is a SHA3-256 hash, a signature always SHA1") {
  World world;
  const std::string nonce = sha3(kPullCard);
  const std::string text = nonce + secret_of("o", "pw");
  CHECK(reads(world, "login o " + nonce + " " + sha1(text) + "\n" + kPullCard));
  CHECK(world.error_of("login o " + nonce + " " + sha3(text) + "\n" + kPullCard) == kFailed);
}

TEST_CASE("digits of a nonce or signature are in lower case") {
  World world;
  std::string nonce = sha1(kPullCard);
  std::string signature = sha1(nonce + secret_of("o", "pw"));
  for (char& c : signature) c = static_cast<char>(std::toupper(c));
  CHECK(world.error_of("login o " + nonce + " " + signature + "\n" + kPullCard) == kFailed);
}

TEST_CASE("the user's name is fossilized") {
  World world;
  world.add_user("a b\\c", "o", secret_of("a b\\c", "pw"));
  CHECK(reads(world, login("a b\\c", secret_of("a b\\c", "pw"), kPullCard)));
}

TEST_CASE("a user's u and v inherit the rights of reader and developer") {
  World world;
  CHECK(world.error_as("u", kPullCard) == "not authorized to read");
  world.sql("UPDATE user SET cap='o' WHERE login='reader'");
  CHECK(world.say_as("u", kPullCard) == "igot " + world.initial() + "\n");
  CHECK(world.say_as("v", kPushCard).empty());
  world.sql(
      "UPDATE user SET cap='u' WHERE login='developer'; UPDATE user SET cap='ov' WHERE "
      "login='reader'");
  CHECK(world.say_as("v", kPullCard) == "igot " + world.initial() + "\n");
}

TEST_CASE("everybody has the rights of nobody") {
  World world;
  world.sql("UPDATE user SET cap='i' WHERE login='nobody'");
  CHECK(world.say(kPushCard).empty());
  CHECK(world.say_as("g", kPushCard).empty());
}

TEST_CASE("the right to clone does not include the right to read") {
  World world;
  world.say_as("s", "push x " + kProjectCode + "\n" + file("one"));
  world.sql(
      "UPDATE user SET cap='gy' WHERE login='s'; UPDATE user SET cap='g' WHERE login='nobody';"
      "INSERT INTO config(name,value,mtime) VALUES('uv-sync','on',1),"
      "('project-description','text',1700000000)");
  world.say_as("s", fmt::format("uvfile a 1 {} 3 0\naaa", sha1("aaa")));
  REQUIRE(world.value("SELECT count(*) FROM unversioned") == "1");
  const std::string gimme = "gimme " + sha3("one") + "\n";
  const std::string hash = "pragma uv-hash " + sha1("") + "\n";
  for (const std::string& more :
       {std::string(), gimme, hash, std::string("uvgimme a\n"), std::string("reqconfig /all\n")}) {
    CAPTURE(more);
    CHECK(world.error_of(kPullCard + more) == "not authorized to read");
    CHECK(world.error_of(more + kPullCard) == "not authorized to read");
    // As with fossil, whose clients request artifacts after a clone without a pull.
    CHECK(world.say(more).empty());
  }
  CHECK(world.error_of(kPushCard) == "not authorized to write");
  const std::string cloned = world.say(kVersion + "clone 3 1\n" + hash + "reqconfig /all\n");
  CHECK(count_cards(cloned, "cfile") == 2);
  CHECK(count_cards(cloned, "uvigot") == 0);
  CHECK(count_cards(cloned, "config") == 0);
}

TEST_CASE("rights of several logins add up") {
  World world;
  world.add_user("w", "i", secret_of("w", "pw"));
  world.sql("UPDATE user SET cap='x' WHERE login='ix'");
  const std::string body = "private\n" + kPushCard + file("hidden");
  const std::string both =
      login("ix", secret_of("ix", "pw"), login("w", secret_of("w", "pw"), body));
  CHECK(world.error_as("w", body) == "not authorized to sync private content");
  CHECK(world.error_as("ix", body) == "not authorized to write");
  CHECK(world.say(both).empty());
  CHECK(world.value("SELECT count(*) FROM private") == "1");
  CHECK(world.value("SELECT login FROM rcvfrom JOIN user USING(uid) WHERE rcvid=2") == "w");
}

TEST_CASE("each login card costs a hash of all that follows, so their number is limited") {
  World world;
  std::string body = kPullCard;
  for (int i = 0; i < 4; ++i) body = login("nobody", "", body);
  CHECK(world.error_of(body) != "more than 4 login cards");
  CHECK(world.error_of(login("nobody", "", body)) == "more than 4 login cards");
}

TEST_CASE("if only one login is allowed, a second is an error") {
  World world;
  world.options.single_login = true;
  CHECK(reads(world, login("o", secret_of("o", "pw"), kPullCard)));
  CHECK(world.error_of(
            login("g", secret_of("g", "pw"), login("o", secret_of("o", "pw"), kPullCard))) ==
        "multiple login cards");
}

TEST_CASE("a login may be in a cookie, which signs the whole body") {
  World world;
  const std::string cookie = cookie_signed_by("o", secret_of("o", "pw"), kPullCard);
  Reply reply = world.ask({.body = kPullCard, .cookie = cookie});
  CHECK(reply.body.starts_with("igot " + world.initial()));
  CHECK(world.figures().user == "o");
  const std::string other = kPullCard + "#\n";
  reply = world.ask({.body = other, .cookie = cookie});
  CHECK(reply.body.starts_with("error login\\sfailed\n"));
}

TEST_CASE("a login in a cookie and another in the body are an error") {
  World world;
  const std::string body = login("o", secret_of("o", "pw"), kPullCard);
  const std::string cookie = cookie_signed_by("o", secret_of("o", "pw"), body);
  CHECK(world.ask({.body = body, .cookie = cookie})
            .body.starts_with("error multiple\\slogin\\scards\n"));
}

TEST_CASE("a login cookie without a login card is ignored like other cookies") {
  World world;
  const std::string body = login("o", secret_of("o", "pw"), kPullCard);
  for (const char* value :
       {"", "x", "login+a+b", "login+a+b+c+d", "pull+a+b+c", "%zz", "login%", "+++", "%00"}) {
    CAPTURE(value);
    const std::string cookie = "x-f-l-c=" + std::string(value);
    CHECK(world.ask({.body = "", .cookie = cookie}).body.starts_with("# timestamp "));
    // The card in the body is the only login, and counts.
    CHECK(world.ask({.body = body, .cookie = cookie}).body.starts_with("igot "));
  }
  for (const char* cookie : {"fossil-1234=x", "x-f-l-cc=login+a", ";;;", "x-f-l-c", "="}) {
    CAPTURE(cookie);
    CHECK(world.ask({.body = "", .cookie = cookie}).body.starts_with("# timestamp "));
  }
}

TEST_CASE("a user named by the web server is accepted only if the repository agrees") {
  World world;
  const Request request{.body = kPullCard, .remote_user = "o"};
  CHECK(world.ask(request).body.starts_with("error not\\sauthorized\\sto\\sread"));
  world.sql("INSERT INTO config(name,value) VALUES('remote_user_ok','1')");
  CHECK(world.ask(request).body.starts_with("igot "));
  CHECK(world.figures().user == "o");
  CHECK(world.ask({.body = kPullCard, .remote_user = "who"}).body.starts_with("error "));
}
