// Tests the rights to send and receive configuration, and how conflicting rows are merged.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "world.h"

using namespace quarry::sync;

namespace {

std::string config(std::string_view name, std::string_view content) {
  return fmt::format("config {} {}\n{}\n", name, content.size(), content);
}

struct ConfigWorld : World {
  ConfigWorld() {
    sql("UPDATE config SET mtime=NULL; UPDATE user SET mtime=NULL; DELETE FROM reportfmt;");
    add_user("oe", "oe", secret_of("oe", "pw"));
  }
  std::string setting(const std::string& name) {
    return value("SELECT mtime||' '||quote(value) FROM config WHERE name='" + name + "'");
  }
};

}  // namespace

TEST_CASE("a setting is sent in its area, with its time") {
  ConfigWorld world;
  world.sql("INSERT INTO config VALUES('css','it''s',10),('header','h',11),('ignore-glob','i',12)");
  const std::string css = config("/config", "10 'css' value 'it''s'");
  const std::string header = config("/config", "11 'header' value 'h'");
  CHECK(world.say_as("o", "reqconfig /css\n") == css);
  CHECK(world.say_as("o", "reqconfig /skin\n") == css + header);
  CHECK(world.say_as("o", "reqconfig /s\n") == css + header);
  CHECK(world.say_as("o", "reqconfig /project\n") ==
        config("/config", "12 'ignore-glob' value 'i'"));
  CHECK(world.say_as("o", "reqconfig /ticket\n").empty());
  CHECK(world.say_as("o", "reqconfig /nothing\n").empty());
  CHECK(world.say_as("g", "reqconfig /skin\n").empty());
}

TEST_CASE("each table is sent in its own area") {
  ConfigWorld world;
  world.sql(
      "INSERT INTO shun VALUES('aa',1,'why'),('bb',2,NULL);"
      "INSERT INTO reportfmt(owner,title,mtime,cols,sqlcode) VALUES('s','All',3.5,NULL,'SELECT 1');"
      "INSERT INTO concealed VALUES('cc',4,'me@there');"
      "INSERT INTO config VALUES('walias:/x','{}',5),('interwiki:w','{}',6);"
      "UPDATE user SET mtime=7, info=NULL WHERE login='g'");
  const std::string shun =
      config("/shun", "1 'aa' scom 'why'") + config("/shun", "2 'bb' scom NULL");
  const std::string user =
      config("/user", "7 'g' pw '" + secret_of("g", "pw") + "' cap 'g' jx '{}'");
  const std::string report = config("/reportfmt", "3.5 'All' owner 's' sqlcode 'SELECT 1' jx '{}'");
  const std::string address = config("/concealed", "4 'cc' content 'me@there'");
  const std::string alias = config("/config", "5 'walias:/x' value '{}'");
  const std::string wiki = config("/config", "6 'interwiki:w' value '{}'");
  CHECK(world.say_as("a", "reqconfig /shun\n") == shun);
  CHECK(world.say_as("a", "reqconfig /user\n") == user);
  CHECK(world.say_as("a", "reqconfig /ticket\n") == report);
  CHECK(world.say_as("a", "reqconfig /email\n") == address);
  CHECK(world.say_as("a", "reqconfig /alias\n") == alias);
  CHECK(world.say_as("a", "reqconfig /interwiki\n") == wiki);
  CHECK(world.say_as("a", "reqconfig /subscriber\n").empty());
  CHECK(world.say_as("a", "reqconfig /all\n") == shun + user + report + address + alias + wiki);
}

TEST_CASE("an area requested twice in one request is sent once, unless it has changed") {
  ConfigWorld world;
  world.sql("INSERT INTO config VALUES('css','c',10),('header','h',11)");
  const std::string css = config("/config", "10 'css' value 'c'");
  const std::string header = config("/config", "11 'header' value 'h'");
  CHECK(world.say_as("o", "reqconfig /css\nreqconfig /skin\nreqconfig /all\nreqconfig /css\n") ==
        css + header);
  CHECK(world.say_as("o", "reqconfig css\nreqconfig css\nreqconfig header\n") ==
        config("css", "c") + config("header", "h"));
  const std::string ask = "reqconfig /css\nreqconfig css\n";
  const std::string now = config("/config", "20 'css' value 'new'");
  CHECK(world.say_as("a", ask + now + ask) ==
        css + config("css", "c") + now + config("css", "new"));
}

TEST_CASE("requesting users needs admin, and addresses the right e") {
  ConfigWorld world;
  world.sql("UPDATE user SET mtime=7; INSERT INTO concealed VALUES('cc',4,'me@there');");
  for (const char* user : {"o", "i"}) {
    CAPTURE(user);
    CHECK(world.say_as(user, "reqconfig /user\nreqconfig /email\nreqconfig /all\n").empty());
  }
  CHECK(world.say_as("oe", "reqconfig /user\nreqconfig /email\n") ==
        config("/concealed", "4 'cc' content 'me@there'"));
  CHECK(world.say("reqconfig /user\nreqconfig /all\n").empty());
}

TEST_CASE("verified subscribers are synced, unverified ones stay") {
  ConfigWorld world;
  const std::string row = "9 'a@b' suname 'n' sdigest 0 sdonotcall 1 ssub 'ac' sctime 5 smip '::1'";
  CHECK(world.say_as("a", config("/subscriber", row)).empty());
  CHECK(world.value("SELECT semail||suname||sverified||length(subscriberCode) FROM subscriber") ==
        "a@bn132");
  CHECK(world.say_as("a", "reqconfig /subscriber\n") == config("/subscriber", row));
  CHECK(world.say_as("i", "reqconfig /subscriber\n").empty());
  world.sql("UPDATE subscriber SET sverified=0");
  CHECK(world.say_as("a", "reqconfig /subscriber\n").empty());
}

TEST_CASE("a received row is stored if it is later") {
  ConfigWorld world;
  world.say_as("a", config("/config", "100 'css' value 'one'"));
  CHECK(world.setting("css") == "100 'one'");
  world.say_as("a", config("/config", "99 'css' value 'older'"));
  world.say_as("a", config("/config", "100 'css' value 'as old'"));
  CHECK(world.setting("css") == "100 'one'");
  world.say_as("s", config("/config", "101 'css' value 'it''s newer'"));
  CHECK(world.setting("css") == "101 'it''s newer'");
  CHECK(world.say_as("o", "reqconfig /css\n") ==
        config("/config", "101 'css' value 'it''s newer'"));
}

TEST_CASE("received users can log in at once, and the built-in ones do not change") {
  ConfigWorld world;
  world.say_as("a",
               config("/user", "5 'new' pw '" + secret_of("new", "pw") +
                                   "' cap 'o' info 'i' photo x'00ff' jx '{}' uid 7 cookie 'c'"));
  CHECK(world.value("SELECT cap||info||hex(photo)||jx||(cookie IS NULL) FROM user WHERE "
                    "login='new'") == "oi00FF{}1");
  CHECK(world.say_as("new", kPullCard).starts_with("igot "));
  world.say_as("a", config("/user", "5 'nobody' cap 's'"));
  CHECK(world.value("SELECT cap FROM user WHERE login='nobody'") == "");
}

TEST_CASE("an artifact shunned by configuration is not sent from then on") {
  ConfigWorld world;
  world.say_as("i", kPushCard + file("bad"));
  CHECK(world.say_as("o", kVersion + kPullCard).find(sha3("bad")) != std::string::npos);
  world.say_as("a", config("/shun", "5 '" + sha3("bad") + "' scom 'no'"));
  const std::string reply = world.say_as("o", kVersion + kPullCard + "gimme " + sha3("bad") + "\n");
  CHECK(reply.find(sha3("bad")) == std::string::npos);
  CHECK(world.say_as("g", kVersion + "clone 3 1\n").find(sha3("bad")) == std::string::npos);
  world.say_as("i", kPushCard + file("bad"));
  CHECK(world.say_as("o", kVersion + kPullCard).find(sha3("bad")) == std::string::npos);
}

TEST_CASE("without admin, no configuration can be pushed, whatever its name") {
  ConfigWorld world;
  for (const char* user : {"o", "i", "ix", "g", "oe"}) {
    for (const char* name : {"/config", "/user", "/nothing", "css", "@user"}) {
      CAPTURE(name);
      CHECK(world.error_as(user, config(name, "5 'css' value 'x'")) ==
            "not authorized to push configuration");
    }
  }
  CHECK(world.error_of(config("/config", "5 'css' value 'x'")) ==
        "not authorized to push configuration");
}

TEST_CASE("unsyncable settings are neither sent nor accepted") {
  ConfigWorld world;
  world.sql("INSERT INTO config VALUES('th1-setup','x',5),('captcha-secret','x',5)");
  const std::string before = world.dump();
  for (const char* name :
       {"project-code", "server-code", "captcha-secret", "th1-setup", "tcl", "last-sync-url",
        "uv-hash", "ci-lock-x", "hook-embargo", "css ", "Css"}) {
    CAPTURE(name);
    CHECK(world.say_as("a", fmt::format("reqconfig {}\n", name)).empty());
    CHECK(world.say_as("a", config("/config", fmt::format("999 '{}' value 'y'", name))).empty());
  }
  world.say_as("a", config("captcha-secret", "y"));
  CHECK(world.say_as("a", "reqconfig /all\n").empty());
  CHECK(world.dump() == before);
}

TEST_CASE("a setting may be requested and sent by name alone, as old clients do") {
  ConfigWorld world;
  world.sql("INSERT INTO config VALUES('css','it''s',10),('user-color-map','c',11)");
  CHECK(world.say_as("o", "reqconfig css\n") == config("css", "it's"));
  CHECK(world.say_as("o", "reqconfig header\n").empty());
  CHECK(world.say_as("o", "reqconfig user-color-map\n").empty());
  CHECK(world.say_as("g", "reqconfig css\n").empty());
  world.say_as("a", config("css", "new\nlines"));
  CHECK(world.setting("css") == "1700000000 'new\nlines'");
}

TEST_CASE("configuration as SQL text is refused") {
  ConfigWorld world;
  CHECK(world.error_as(
            "a", config("/config", "5 'css' value 'x'") + config("@shun", "DELETE FROM user")) ==
        "configuration as SQL is not accepted: use Fossil 1.19 or later");
  CHECK(world.say_as("a", "reqconfig @user\nreqconfig @shun\n").empty());
}

TEST_CASE("values are only data: a malformed row is skipped") {
  ConfigWorld world;
  const std::string before = world.dump();
  for (const char* content : {"",
                              "5",
                              "5 ",
                              "x 'css' value 'x'",
                              "-5 'css' value 'x'",
                              "1.5 'css' value 'x'",
                              "5 css value 'x'",
                              "5 x'637373' value 'x'",
                              "5 NULL value 'x'",
                              "5 'css value x",
                              "5 'css' value 'x",
                              "5 'css' value 'x'||(SELECT pw FROM user)",
                              "5 'css' value (SELECT 1)",
                              "5 'css' value sqlite_version()",
                              "5 'css' value -1",
                              "5 'css' value 1.5",
                              "5 'css' value \"x\"",
                              "5 'css' value pw",
                              "5 'css' value x'0'",
                              "5 'css' value x'zz'",
                              "5 'css' value 'a' value 'b'",
                              "5 'css' value 99999999999999999999",
                              "5 '' value 'x'",
                              "5 'css');DROP TABLE config;-- value 'x'",
                              "99999999999999999999 'css' value 'x'"}) {
    CAPTURE(content);
    CHECK(world.say_as("a", config("/config", content)).empty());
    CHECK(world.dump() == before);
  }
  for (const char* name : {"/nothing", "/config2", "/", "/blob", "/Config"}) {
    CAPTURE(name);
    CHECK(world.say_as("a", config(name, "5 'css' value 'x'")).empty());
    CHECK(world.dump() == before);
  }
}

TEST_CASE("text that looks like SQL is stored unchanged") {
  ConfigWorld world;
  const std::string text = "''); DROP TABLE user; --";
  world.say_as("a", config("/config", "5 'css' value '" + text + "' rowid 7 x');-- 'x'"));
  CHECK(world.setting("css") == "(none)");
  world.say_as("a", config("/config", "5 'css' value '" + text + "' rowid 7"));
  CHECK(world.setting("css") == "5 '" + text + "'");
  world.say_as("a", config("/config", "6 'css' value 17"));
  CHECK(world.setting("css") == "6 '17'");
  world.say_as("a", config("/config", "7 'css' value NULL"));
  CHECK(world.setting("css") == "7 NULL");
}

TEST_CASE("repositories without the newest columns send and receive configuration too") {
  ConfigWorld world;
  world.sql(
      "ALTER TABLE user DROP COLUMN jx; ALTER TABLE reportfmt DROP COLUMN jx;"
      "UPDATE user SET mtime=3 WHERE login='g'");
  CHECK(world.say_as("a", "reqconfig /user\n") ==
        config("/user", "3 'g' pw '" + secret_of("g", "pw") + "' cap 'g'"));
  world.say_as("a", config("/user", "5 'new' cap 'o' jx '{\"a\":1}'") +
                        config("/reportfmt", "5 'R' sqlcode 'SELECT 1' jx '{}'"));
  CHECK(world.value("SELECT jx FROM user WHERE login='new'") == "{\"a\":1}");
  CHECK(world.value("SELECT jx FROM user WHERE login='g'") == "{}");
  CHECK(world.value("SELECT jx FROM reportfmt WHERE title='R'") == "{}");
}
