#include <doctest/doctest.h>
#include <fmt/core.h>

#include "server/capabilities.h"
#include "world.h"

using namespace quarry::sync;

namespace {

const std::string kFailed = "login failed";

/// Returns true if the reply to BODY lists the initial check-in, which requires the right to read.
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

TEST_CASE("capability letters give rights, and some imply others") {
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

TEST_CASE("only the right password logs in, and all failures get the same error") {
  World world;
  world.add_user("empty", "s", "");
  world.add_user("old", "o", "hello");
  for (const std::string user : {"developer", "reader"}) {
    world.sql("UPDATE user SET pw='" + secret_of(user, "pw") + "' WHERE login='" + user + "'");
  }
  CHECK(reads(world, login("o", secret_of("o", "pw"), kPullCard)));
  CHECK(world.figures().user == "o");
  // An old repository can contain passwords as plain text.
  CHECK(reads(world, login("old", "hello", kPullCard)));
  CHECK(reads(world, login("old", secret_of("old", "hello"), kPullCard)));
  for (const auto& [user, secret] : std::vector<std::pair<std::string, std::string>>{
           {"o", secret_of("o", "wrong")},
           {"o", secret_of("o", secret_of("o", "pw"))},  // the stored hash is not a password
           {"x", secret_of("x", "pw")},
           {"empty", ""},
           {"empty", secret_of("empty", "")},
           {"old", secret_of("old", "hullo")},
           {"developer", secret_of("developer", "pw")},
           {"reader", secret_of("reader", "pw")}}) {
    CAPTURE(user);
    CHECK(world.error_of(login(user, secret, kPullCard)) == kFailed);
  }
}

TEST_CASE("a login signs everything after it, to the byte") {
  World world;
  const std::string good = login("o", secret_of("o", "pw"), kPullCard);
  CHECK(world.error_of(good + "#") == kFailed);
  CHECK(world.error_of(good.substr(0, good.size() - 1)) == kFailed);
  CHECK(reads(world, "# before it anything may come\n\n" + good));
}

TEST_CASE("nobody and anonymous need no signature but a correct nonce, and have nobody's rights") {
  World world;
  for (const std::string user : {"nobody", "anonymous"}) {
    const std::string body = "login " + user + " " + sha1(kPullCard) + " x\n" + kPullCard;
    world.sql("UPDATE user SET cap='' WHERE login='nobody'");
    CHECK(world.error_of(body) == "not authorized to read");
    world.sql("UPDATE user SET cap='o' WHERE login='nobody'");
    CHECK(reads(world, body));
    CHECK(world.figures().user == "nobody");
    CHECK(world.error_of("login " + user + " " + sha1("x") + " x\n" + kPullCard) == kFailed);
  }
}

TEST_CASE("a nonce is a SHA1 or SHA3-256 hash, a signature always SHA1, in lower case") {
  World world;
  const std::string secret = secret_of("o", "pw");
  const std::string nonce = sha3(kPullCard);
  CHECK(reads(world, "login o " + nonce + " " + sha1(nonce + secret) + "\n" + kPullCard));
  std::string upper = sha1(nonce + secret);
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  for (const std::string& signature : {sha3(nonce + secret), upper}) {
    CHECK(world.error_of("login o " + nonce + " " + signature + "\n" + kPullCard) == kFailed);
  }
}

TEST_CASE("the user's name is fossilized") {
  World world;
  for (const std::string name : {"a b\\c", "with space", "umlaut \xc3\xa4 \\", "tab\tname"}) {
    CAPTURE(name);
    world.add_user(name, "o", secret_of(name, "pw"));
    CHECK(reads(world, login(name, secret_of(name, "pw"), kPullCard)));
  }
}

TEST_CASE("the capabilities u and v inherit those of reader and developer") {
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

TEST_CASE("every user has the rights of the user nobody") {
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
    // Without a pull card the reply is empty, as in fossil. Clients of fossil send such requests
    // after a clone.
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

TEST_CASE("the number of logins is limited, because each costs a hash of all that follows") {
  World world;
  std::string body = kPullCard;
  for (int i = 0; i < 4; ++i) body = login("nobody", "", body);
  CHECK(world.error_of(body) == "not authorized to read");
  CHECK(world.error_of(login("nobody", "", body)) == "more than 4 login cards");
  world.options.single_login = true;
  body = login("o", secret_of("o", "pw"), kPullCard);
  CHECK(reads(world, body));
  CHECK(world.error_of(login("g", secret_of("g", "pw"), body)) == "multiple login cards");
}

TEST_CASE("a login may be in a cookie, which signs the whole body, and is then the only one") {
  World world;
  const std::string signed_body = login("o", secret_of("o", "pw"), kPullCard);
  const auto answer = [&](const std::string& body, const std::string& signed_text) {
    return world
        .ask({.body = body, .cookie = cookie_signed_by("o", secret_of("o", "pw"), signed_text)})
        .body;
  };
  CHECK(answer(kPullCard, kPullCard).starts_with("igot " + world.initial()));
  CHECK(world.figures().user == "o");
  CHECK(answer(kPullCard + "#\n", kPullCard).starts_with("error login\\sfailed\n"));
  CHECK(answer(signed_body, signed_body).starts_with("error multiple\\slogin\\scards\n"));
}

TEST_CASE("a login cookie without a login card is ignored like other cookies") {
  World world;
  const std::string body = login("o", secret_of("o", "pw"), kPullCard);
  for (const char* value :
       {"", "x", "login+a+b", "login+a+b+c+d", "pull+a+b+c", "%zz", "login%", "+++", "%00"}) {
    CAPTURE(value);
    const std::string cookie = "x-f-l-c=" + std::string(value);
    CHECK(world.ask({.body = "", .cookie = cookie}).body.starts_with("# timestamp "));
    // The login card in the body is valid.
    CHECK(world.ask({.body = body, .cookie = cookie}).body.starts_with("igot "));
  }
  for (const char* cookie : {"fossil-1234=x", "x-f-l-cc=login+a", ";;;", "x-f-l-c", "="}) {
    CAPTURE(cookie);
    CHECK(world.ask({.body = "", .cookie = cookie}).body.starts_with("# timestamp "));
  }
}

TEST_CASE("a user authenticated by the web server needs no signature if the repository agrees") {
  World world;
  const std::string unsigned_login =
      "login o " + sha1(kPullCard) + " " + std::string(40, '0') + "\n" + kPullCard;
  const auto is_granted = [&](std::string_view user, const std::string& body) {
    return world.ask({.body = body, .remote_user = user}).body.starts_with("igot ");
  };
  CHECK_FALSE(is_granted("o", kPullCard));
  CHECK_FALSE(is_granted("o", unsigned_login));
  world.sql("INSERT INTO config(name,value) VALUES('remote_user_ok','1')");
  CHECK(is_granted("o", kPullCard));
  CHECK(world.figures().user == "o");
  CHECK(is_granted("o", unsigned_login));
  CHECK_FALSE(is_granted("who", kPullCard));
  CHECK_FALSE(is_granted("g", unsigned_login));
  CHECK_FALSE(is_granted("", unsigned_login));
}
