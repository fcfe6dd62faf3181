// Tests check-in locks, links between repositories, catalogs and clusters on request, and
// moderation.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "server/pragmas.h"
#include "server/public_url.h"
#include "world.h"

using namespace quarry::sync;
using quarry::repository::CheckInLock;

namespace {

constexpr int kNow = 1700000000;  // time of StillClock

std::string lock(std::string_view check_in, std::string_view client) {
  return fmt::format("pragma ci-lock {} {}\n", check_in, client);
}
std::string locks(World& world) {
  std::string out;
  for (const std::string& row :
       world.values("SELECT substr(name,9,8),value,mtime FROM config WHERE name GLOB 'ci-lock-*'"
                    " ORDER BY name")) {
    out += row + "\n";
  }
  return out;
}
std::string clients_lock(World& world, std::string_view login, std::string_view client,
                         int mtime = kNow) {
  return fmt::format("{}|{{\"login\":\"{}\",\"clientid\":\"{}\"}}|{}|\n",
                     world.initial().substr(0, 8), login, client, mtime);
}
std::string failed(std::string_view login, int since = kNow) {
  return fmt::format("pragma ci-lock-fail {} {}\n", login, since);
}

}  // namespace

TEST_CASE("the second client that is about to commit on a check-in gets the name of the first") {
  World world;
  CHECK(world.say_as("i", lock(world.initial(), "one")).empty());
  CHECK(locks(world) == clients_lock(world, "i", "one"));
  CHECK(world.say_as("i", lock(world.initial(), "one")).empty());
  CHECK(world.say_as("s", lock(world.initial(), "two")) == failed("i"));
  CHECK(locks(world) == clients_lock(world, "i", "one"));
}

TEST_CASE("a check-in lock is released only by its client") {
  World world;
  world.say_as("i", lock(world.initial(), "one"));
  world.say_as("i", "pragma ci-unlock two\n");
  CHECK(locks(world) == clients_lock(world, "i", "one"));
  CHECK(world.say_as("i", "pragma ci-unlock one\n").empty());
  CHECK(locks(world).empty());
  CHECK(world.say_as("s", lock(world.initial(), "two")).empty());
}

TEST_CASE("a check-in lock expires after lock-timeout, 60 seconds by default") {
  World world;
  const auto age = [&](int seconds) {
    world.sql(
        fmt::format("UPDATE config SET mtime={} WHERE name GLOB 'ci-lock-*'", kNow - seconds));
  };
  world.say_as("i", lock(world.initial(), "one"));
  age(59);
  CHECK(world.say_as("i", lock(world.initial(), "two")) == failed("i", kNow - 59));
  age(60);
  CHECK(world.say_as("i", lock(world.initial(), "two")).empty());
  CHECK(locks(world) == clients_lock(world, "i", "two"));
  world.sql("INSERT INTO config(name,value,mtime) VALUES('lock-timeout','5',1)");
  age(5);
  CHECK(world.say_as("i", lock(world.initial(), "one")).empty());
}

TEST_CASE("a check-in lock ends when the check-in is no longer a leaf") {
  World world;
  world.say_as("i", lock(world.initial(), "one"));
  const std::string unknown(40, '0');
  CHECK(world.say_as("i", lock(unknown, "two")).empty());
  CHECK(locks(world).ends_with(clients_lock(world, "i", "one")));
  world.sql("DELETE FROM leaf; INSERT INTO plink(pid,cid,isprim) VALUES(1,999,1)");
  CHECK(world.say_as("i", lock(unknown, "two")).empty());
  CHECK(locks(world) ==
        "00000000|{\"login\":\"i\",\"clientid\":\"two\"}|" + std::to_string(kNow) + "|\n");
}

TEST_CASE("a check-in lock also excludes clients of other hosts, if the check-in is a leaf") {
  World world;
  class Locks : public SharedLocks {
   public:
    std::optional<CheckInLock> lock(std::string_view check_in, std::string_view login,
                                    std::string_view client,
                                    std::chrono::seconds timeout) override {
      asked = fmt::format("{} {} {} {}", check_in, login, client, timeout.count());
      return held;
    }
    void unlock(std::string_view check_in, std::string_view client) override {
      released += fmt::format("{} {}\n", check_in, client);
    }
    std::optional<CheckInLock> held;
    std::string asked, released;
  } shared;
  const auto say = [&](const std::string& body) {
    return world.ask({.body = login("i", secret_of("i", "pw"), body), .locks = &shared}).body;
  };
  shared.held = {.login = "ann\\ssmith", .since = kNow - 5};
  CHECK(say(lock(world.initial(), "one")).starts_with(failed("ann\\ssmith", kNow - 5)));
  CHECK(shared.asked == world.initial() + " i one 60");
  CHECK(locks(world).empty());
  shared.held.reset();
  CHECK_FALSE(say(lock(world.initial(), "one")).contains("fail"));
  say("pragma ci-unlock one\n");
  CHECK(shared.released == world.initial() + " one\n");
  shared.held = {.login = "ann", .since = kNow};
  world.sql("DELETE FROM leaf; INSERT INTO plink(pid,cid,isprim) VALUES(1,999,1)");
  CHECK_FALSE(say(lock(world.initial(), "one")).contains("fail"));
}

TEST_CASE("a check-in lock needs the right to write") {
  World world;
  const std::string before = world.dump();
  for (const char* user : {"o", "g"}) {
    CAPTURE(user);
    CHECK(world.say_as(user, lock(world.initial(), "one") + "pragma ci-unlock one\n").empty());
    CHECK(world.dump() == before);
  }
  CHECK(world.say(lock(world.initial(), "one")).empty());
  CHECK(world.dump() == before);
}

TEST_CASE("an invalid check-in lock does nothing") {
  World world;
  const std::string before = world.dump();
  for (const std::string& card : std::vector<std::string>{
           lock("abc", "one"), "pragma ci-lock " + world.initial() + "\n",
           "pragma ci-lock " + world.initial() + " a b\n", "pragma ci-unlock\n",
           "pragma ci-unlock a b\n", lock(world.initial(), std::string(201, 'x'))}) {
    CAPTURE(card);
    CHECK(world.say_as("i", card).empty());
    CHECK(world.dump() == before);
  }
}

TEST_CASE("a client's name for itself is arbitrary text, and rows of other forms are left alone") {
  World world;
  world.sql("INSERT INTO config(name,value,mtime) VALUES('ci-lock-x','no JSON',1)");
  world.say_as("i", lock(world.initial(), "\"'}\\"));
  CHECK(world.say_as("i", lock(world.initial(), "\"'}\\")).empty());
  CHECK(world.say_as("i", lock(world.initial(), "two")) == failed("i"));
  world.say_as("i", "pragma ci-unlock \"'}\\\n");
  CHECK(locks(world).empty());
}

TEST_CASE("the holder of a lock without a login is called nobody") {
  World world;
  world.sql("UPDATE user SET cap='io' WHERE login='nobody'");
  CHECK(world.say(lock(world.initial(), "one")).empty());
  CHECK(world.value("SELECT value FROM config WHERE name GLOB 'ci-lock-*'") ==
        "{\"login\":null,\"clientid\":\"one\"}");
  CHECK(world.say(lock(world.initial(), "two")) == failed("nobody"));
}

TEST_CASE("if delta manifests are forbidden, a client about to commit gets a pragma") {
  World world;
  world.sql("INSERT INTO config(name,value,mtime) VALUES('forbid-delta-manifests','on',1)");
  CHECK(world.say_as("i", lock(world.initial(), "one")) == "pragma avoid-delta-manifests\n");
  CHECK(world.say_as("i", lock(world.initial(), "two")) ==
        failed("i") + "pragma avoid-delta-manifests\n");
  CHECK(world.say_as("o", lock(world.initial(), "two")).empty());
}

TEST_CASE("a client's own URL is stored without its password") {
  World world;
  const auto known = [&] {
    return world.values("SELECT name,value,mtime FROM config WHERE name GLOB 'sync*'");
  };
  for (const char* user : {"o", "g"}) world.say_as(user, "pragma client-url http://h/x\n");
  CHECK(known().empty());
  CHECK(world.say_as("i", "pragma client-url https://me:secret@h:8080/x?name=y#z\n").empty());
  CHECK(known() == std::vector<std::string>{"syncfrom:https://h:8080/x|{}|1700000000|"});
  world.say_as("i", "pragma client-url file:///etc/passwd\npragma client-url ssh://h/x\n");
  CHECK(known().size() == 1);
}

TEST_CASE("only URLs with HTTP are public") {
  CHECK(public_url("http://h") == "http://h");
  CHECK(public_url("http://[::1]:8/x") == "http://[::1]:8/x");
  for (const std::string& url : std::vector<std::string>{
           "", "http://", "http:///x", "http://:80/", "http://u@/x", "h/x", "HTTP://h", "ftp://h/",
           "http://h/\x01", "http://h/\xff", "http://h/" + std::string(2000, 'x'), "ssh://h/x",
           "http://h/a b", "http://h\"/"}) {
    CAPTURE(url);
    CHECK(public_url(url).empty());
  }
}

TEST_CASE("a public URL contains nothing of the user who entered it") {
  CHECK(public_url("https://user:token@h/a?token=x#y") == "https://h/a");
  CHECK(public_url("https://user@h:8080/a/") == "https://h:8080/a/");
  CHECK(public_url("http://a:b@c:d@h/x") == "http://h/x");
  CHECK(public_url("http://a%40b:p%2Fq@h") == "http://h");
  CHECK(public_url("https://h:443/x") == "https://h/x");
  CHECK(public_url("http://h:80/x") == "http://h/x");
  CHECK(public_url("http://h:443/x") == "http://h:443/x");
  CHECK(public_url("http://h:/x") == "http://h/x");
  CHECK(public_url("ssh://git:pw@h:22/x", PublicSchemes::kHttpAndSsh) == "ssh://h/x");
  // In each of these URLs, the password contains a slash. The text after this slash must not be
  // used as a path.
  for (const char* url : {"https://user:to/ken@h/x", "https://user:12/34@h/x", "https://u/p@h"}) {
    CAPTURE(url);
    CHECK(public_url(url).empty());
  }
}

TEST_CASE("URLs of the local machine are not public") {
  for (const char* url : {"http://localhost/", "http://localhost:8080/x", "https://u:p@LocalHost/x",
                          "http://me.localhost.example/x"}) {
    CAPTURE(url);
    CHECK(public_url(url).empty());
  }
  CHECK(public_url("http://h/localhost") == "http://h/localhost");
  World world;
  world.say_as("i", "pragma client-url http://localhost:8080/x\n");
  CHECK(world.value("SELECT count(*) FROM config WHERE name GLOB 'syncfrom:*'") == "0");
}

TEST_CASE("other clones of the project are listed for clients that ask and may read") {
  World world;
  world.sql(
      "INSERT INTO config(name,value,mtime) VALUES('syncwith:http://a/','{}',1699999990),"
      "('syncfrom:http://a/','{}',1699999995),('syncwith:ssh://b/','{}',1700000000),"
      "('gitpush:https://g/x','{}',1700000000),('syncfrom:http://old/','{}',1600000000)");
  const Reply reply = world.ask(
      {.body = login("o", secret_of("o", "pw"), "pragma req-links\n"), .own_url = "https://me/r"});
  CHECK(reply.body.starts_with(
      "pragma link http://a/ {\"src\":\"https://me/r\"} 1699999995\n"
      "pragma link https://g/x {\"type\":\"git\",\"src\":\"https://me/r\"} 1700000000\n"
      "# timestamp "));
  CHECK(world.say_as("g", "pragma req-links\n").empty());
}

TEST_CASE("credentials in the file are not in the links to other repositories") {
  World world;
  world.sql(
      "INSERT INTO config(name,value,mtime) VALUES"
      "('syncwith:https://user:token@h/a','{}',1700000000),"
      "('syncfrom:https://h/a','{}',1699999999),"
      "('gitpush:https://ann:ghp_token@github.com/a/b.git','{}',1700000000),"
      "('gitpush:ssh://git:token@github.com/a','{}',1700000000),"
      "('gitpush:git@github.com:a/token.git','{}',1700000000),"
      "('gitpush:file:///home/token/x','{}',1700000000),"
      "('syncwith:http://user:token@localhost:8080/x','{}',1700000000)");
  const std::string links = world.say_as("o", "pragma req-links\n");
  CHECK(links ==
        "pragma link https://github.com/a/b.git {\"type\":\"git\",\"src\":\"\"} 1700000000\n"
        "pragma link https://h/a {\"src\":\"\"} 1700000000\n"
        "pragma link ssh://github.com/a {\"type\":\"git\",\"src\":\"\"} 1700000000\n");
}

TEST_CASE("no configuration request returns a user's sync credentials") {
  World world;
  for (const char* name :
       {"last-sync-url", "last-sync-pw", "sync-url:backup", "sync-pw:backup", "parent-project-url",
        "parent-project-pw", "ssl-identity", "email-send-relayhost", "email-send-command",
        "http-proxy", "proxy", "syncwith:http://u:secret@h/", "gitpush:https://u:secret@h/",
        "captcha-secret", "login-group-name", "peer-repo-x", "ssh-command"}) {
    world.sql(fmt::format("REPLACE INTO config(name,value,mtime) VALUES('{}','secret',1700000000)",
                          name));
  }
  world.sql("UPDATE user SET cap='goisaex' WHERE login='s'");
  std::string asked;
  for (const std::string& name :
       world.values("SELECT name FROM config WHERE value='secret' OR name GLOB '*secret*'")) {
    asked += "reqconfig " + name.substr(0, name.size() - 1) + "\n";
  }
  CHECK(count_cards(asked, "reqconfig") == 17);
  CHECK(world.say_as("s", asked).find("secret") == std::string::npos);
  const std::string all = world.say_as("s", "reqconfig /all\n");
  CHECK(count_cards(all, "config") > 1);
  CHECK(all.find("secret") == std::string::npos);
}

TEST_CASE("send-catalog names all artifacts available to a pull") {
  World world;
  world.say_as("i", kPushCard + file("one") + file("two"));
  world.sql("DELETE FROM unclustered");
  const std::string all = world.say_as("o", kVersion + kPullCard + "pragma send-catalog\n");
  CHECK(count_cards(all, "igot") == 3);
  CHECK(count_cards(world.say_as("o", kVersion + kPullCard), "igot") == 0);
  CHECK(count_cards(world.say_as("i", kVersion + "pragma send-catalog\n" + kPullCard + kPushCard +
                                          "igot " + sha3("one") + "\n"),
                    "igot") == 2);
  CHECK(world.say_as("o", "pragma send-catalog\n").empty());
}

TEST_CASE(
    "send-catalog leaves out shunned and private artifacts, and names private ones if allowed") {
  World world;
  world.say_as("ix", kPushCard + file("shunned") + "private\n" + file("hidden"));
  world.sql("INSERT INTO shun(uuid) VALUES('" + sha3("shunned") + "')");
  const std::string open = world.say_as("ix", kVersion + kPullCard + "pragma send-catalog\n");
  CHECK(open.find(sha3("hidden")) == std::string::npos);
  CHECK(open.find(sha3("shunned")) == std::string::npos);
  CHECK(world.say_as("ix", kVersion + "pragma send-private\n" + kPullCard + "pragma send-catalog\n")
            .find("igot " + sha3("hidden") + " 1\n") != std::string::npos);
}

TEST_CASE("req-clusters names the clusters that a pull does not name by itself") {
  World world;
  std::string many;
  for (int i = 0; i < 120; ++i) many += file(std::to_string(i));
  world.say_as("i", kPushCard + many);
  const std::string cluster = world.value(
      "SELECT uuid FROM tagxref JOIN blob USING(rid) JOIN tag USING(tagid) WHERE "
      "tagname='cluster'");
  REQUIRE(cluster.size() == 64);
  CHECK(world.say_as("o", kVersion + kPullCard + "pragma req-clusters\n") ==
        kServerVersion + "igot " + cluster + "\n");
  world.sql("DELETE FROM unclustered");
  CHECK(world.say_as("o", kVersion + kPullCard) == kServerVersion);
  CHECK(world.say_as("o", kVersion + kPullCard + "pragma req-clusters\n") ==
        kServerVersion + "igot " + cluster + "\n");
  CHECK(world.say_as("o", kVersion + "pragma req-clusters\n") == kServerVersion);
}

TEST_CASE("artifacts that await moderation are neither named nor sent, even with the right x") {
  World world;
  world.say_as("ix",
               kPushCard + file("open") + "private\n" + file("held") + "private\n" + file("own"));
  world.sql(
      "CREATE TABLE modreq(objid INTEGER PRIMARY KEY, attachRid INT, tktid TEXT);"
      "INSERT INTO modreq(objid) SELECT rid FROM blob WHERE uuid='" +
      sha3("held") + "'");
  const std::string ask = kVersion + "pragma send-private\n" + kPullCard;
  for (const std::string& body :
       {ask, ask + "pragma send-catalog\n", ask + "gimme " + sha3("held") + "\n",
        kVersion + "pragma send-private\nclone 3 1\n", kVersion + "pragma send-private\nclone\n"}) {
    CAPTURE(body);
    world.sql("UPDATE user SET cap='gix' WHERE login='ix'");
    const std::string reply = world.say_as("ix", body);
    CHECK(reply.find(sha3("held")) == std::string::npos);
    CHECK(reply.find(sha3("own")) != std::string::npos);
  }
  world.sql("DELETE FROM modreq");
  CHECK(world.say_as("ix", ask).find(sha3("held")) != std::string::npos);
}
