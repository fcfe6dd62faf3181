// Tests unversioned files: storage, rights and invalid cards.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "cards/file_card.h"
#include "world.h"

using namespace quarry::sync;

namespace {

const std::string kOther = std::string(40, '0');
const std::string kNothing = "da39a3ee5e6b4b0d3255bfef95601890afd80709";

std::string uvfile(std::string_view name, int mtime, std::string_view content) {
  return fmt::format("uvfile {} {} {} {} 0\n{}", name, mtime, sha1(content), content.size(),
                     content);
}
std::string uvdelete(std::string_view name, int mtime) {
  return fmt::format("uvfile {} {} - 0 1\n", name, mtime);
}
std::string ask_catalogue(std::string_view hash) {
  return fmt::format("pragma uv-hash {}\n", hash);
}

struct UvWorld : World {
  UvWorld() {
    add_user("oy", "oy", secret_of("oy", "pw"));
    add_user("y", "y", secret_of("y", "pw"));
  }
  std::string rows() {
    std::string out;
    if (value("SELECT count(*) FROM sqlite_master WHERE name='unversioned'") == "0") return "none";
    for (const std::string& row :
         values("SELECT name,mtime,hash,sz,encoding,content FROM unversioned ORDER BY uvid")) {
      out += row + "\n";
    }
    return out;
  }
};

}  // namespace

TEST_CASE("an unversioned file is stored, listed and sent") {
  UvWorld world;
  CHECK(world.say_as("oy", uvfile("a.txt", 100, "aaa")).empty());
  CHECK(world.rows() == fmt::format("a.txt|100|{}|3|0|aaa|\n", sha1("aaa")));
  CHECK(world.say_as("oy", ask_catalogue(kOther)) ==
        fmt::format("pragma uv-push-ok\nuvigot a.txt 100 {} 3\n", sha1("aaa")));
  CHECK(world.say_as("o", ask_catalogue(kOther)) ==
        fmt::format("pragma uv-pull-only\nuvigot a.txt 100 {} 3\n", sha1("aaa")));
  CHECK(world.say_as("o", "uvgimme a.txt\n") ==
        fmt::format("uvfile a.txt 100 {} 3 0\naaa", sha1("aaa")));
  CHECK(world.say_as("o", "uvgimme b.txt\n").empty());
  CHECK(world.value("SELECT ipaddr FROM rcvfrom JOIN unversioned USING(rcvid)") == "192.0.2.7");
}

TEST_CASE("content that compresses well is stored compressed, and a file may be empty") {
  UvWorld world;
  const std::string content(5000, 'c');
  world.say_as("oy", uvfile("c", 1, content) + uvfile("e", 1, ""));
  CHECK(world.value("SELECT encoding||(length(content)<100)||sz FROM unversioned") == "115000");
  CHECK(world.say_as("o", "uvgimme c\n").ends_with(content));
  CHECK(world.say_as("o", "uvgimme e\n") == "uvfile e 1 " + kNothing + " 0 0\n");
}

TEST_CASE("the hash over all files is that of names, times and hashes of existing ones") {
  UvWorld world;
  CHECK(world.say_as("o", ask_catalogue(kNothing)).empty());
  world.say_as("oy", uvfile("b", 86400, "bbb") + uvfile("a", 0, "aaa") + uvfile("c", 5, "ccc") +
                         uvdelete("c", 6));
  const std::string hash = sha1(fmt::format("a 1970-01-01 00:00:00 {}\nb 1970-01-02 00:00:00 {}\n",
                                            sha1("aaa"), sha1("bbb")));
  CHECK(world.say_as("o", ask_catalogue(hash)).empty());
  const std::string catalogue = world.say_as("o", ask_catalogue(kNothing));
  CHECK(count_cards(catalogue, "uvigot") == 3);
  CHECK(catalogue.find("uvigot c 6 - 0\n") != std::string::npos);
}

TEST_CASE("the hash stored in the file is trusted, and dropped with every change") {
  UvWorld world;
  world.say_as("oy", uvfile("a", 1, "aaa"));
  world.sql("INSERT INTO config(name,value,mtime) VALUES('uv-hash','" + kOther + "',1)");
  CHECK(world.say_as("o", ask_catalogue(kOther)).empty());
  world.say_as("oy", uvfile("a", 2, "aab"));
  CHECK(world.value("SELECT value FROM config WHERE name='uv-hash'") == "(none)");
  CHECK_FALSE(world.say_as("o", ask_catalogue(kOther)).empty());
}

TEST_CASE("a catalog is sent once per request, and includes artifacts of the request") {
  UvWorld world;
  const std::string reply =
      world.say_as("oy", uvfile("a", 1, "aaa") + ask_catalogue(kOther) + ask_catalogue(kNothing));
  CHECK(count_cards(reply, "uvigot") == 1);
}

TEST_CASE("the later file wins; at equal times the greater hash") {
  UvWorld world;
  const auto now_is = [&](int mtime, std::string_view content) {
    CHECK(world.rows() == fmt::format("a|{}|{}|3|0|{}|\n", mtime, sha1(content), content));
  };
  // sha1("bbb") < sha1("aaa")
  world.say_as("oy", uvfile("a", 100, "bbb"));
  world.say_as("oy", uvfile("a", 99, "aaa"));
  now_is(100, "bbb");
  world.say_as("oy", uvfile("a", 100, "aaa"));
  now_is(100, "aaa");
  world.say_as("oy", uvfile("a", 100, "bbb"));
  now_is(100, "aaa");
  world.say_as("oy", uvdelete("a", 100));
  now_is(100, "aaa");
  world.say_as("oy", uvfile("a", 101, "bbb"));
  now_is(101, "bbb");
}

TEST_CASE("a deleted file stays as a row without a hash, and may come back") {
  UvWorld world;
  world.say_as("oy", uvfile("a", 100, "aaa"));
  world.say_as("oy", uvdelete("a", 101));
  CHECK(world.rows() == "a|101|NULL|0|0|NULL|\n");
  CHECK(world.say_as("o", "uvgimme a\n") == "uvfile a 101 - 0 1\n");
  world.say_as("oy", uvdelete("never", 101));
  CHECK(world.rows() == "a|101|NULL|0|0|NULL|\n");
  world.say_as("oy", uvfile("a", 101, "aaa"));
  CHECK(world.rows() == fmt::format("a|101|{}|3|0|aaa|\n", sha1("aaa")));
}

TEST_CASE("content that is left out changes only the time of that content") {
  UvWorld world;
  world.say_as("oy", uvfile("a", 100, "aaa"));
  world.say_as("oy", fmt::format("uvfile a 105 {} 3 4\n", sha1("aaa")));
  CHECK(world.rows() == fmt::format("a|105|{}|3|0|aaa|\n", sha1("aaa")));
  // The server does not have the content of these files, and must not store their rows.
  world.say_as("oy",
               fmt::format("uvfile a 106 {} 3 4\nuvfile b 1 {} 3 4\n", sha1("bbb"), sha1("bbb")));
  CHECK(world.rows() == fmt::format("a|105|{}|3|0|aaa|\n", sha1("aaa")));
}

TEST_CASE("writing unversioned files needs the right y, reading them o") {
  UvWorld world;
  world.say_as("oy", uvfile("a", 100, "aaa"));
  const std::string before = world.dump();
  for (const char* user : {"o", "i", "ix", "g", "a", "s"}) {
    CAPTURE(user);
    for (const std::string& card : {uvfile("a", 200, "bbb"), uvdelete("a", 300),
                                    fmt::format("uvfile a 200 {} 3 4\n", sha1("aaa")),
                                    fmt::format("uvfile a 200 {} 3 0\nbbb", sha1("no"))}) {
      CAPTURE(card);
      CHECK(world.error_as(user, card) == "not authorized to write unversioned files");
    }
    CHECK(world.dump() == before);
  }
  CHECK(world.error_of(uvfile("a", 200, "bbb")) == "not authorized to write unversioned files");
  for (const char* user : {"g", "y"}) {
    CAPTURE(user);
    CHECK(world.say_as(user, "uvgimme a\n" + ask_catalogue(kOther)).empty());
  }
  CHECK(world.say("uvgimme a\n" + ask_catalogue(kOther)).empty());
}

TEST_CASE("a clone gets the catalog without a request if uv-sync is on, with the right to read") {
  UvWorld world;
  world.say_as("oy", uvfile("a", 100, "aaa"));
  world.add_user("go", "go", secret_of("go", "pw"));
  world.sql("INSERT INTO config(name,value,mtime) VALUES('uv-sync','on',1)");
  const std::string catalogue =
      fmt::format("pragma uv-pull-only\nuvigot a 100 {} 3\n", sha1("aaa"));
  CHECK(world.say_as("go", "clone 3 99\n" + ask_catalogue(kOther))
            .starts_with(catalogue + "clone_seqno 0\n"));
  CHECK(world.say_as("g", "clone 3 99\n" + ask_catalogue(kOther)).starts_with("clone_seqno 0\n"));
}

TEST_CASE("if the reply is full, an unversioned file is named instead of sent") {
  UvWorld world;
  world.say_as("oy", uvfile("a", 1, "aaa") + uvfile("b", 2, "bbb"));
  world.sql("INSERT INTO config(name,value,mtime) VALUES('max-download','10',1)");
  CHECK(world.say_as("o", "uvgimme a\nuvgimme b\n") ==
        fmt::format("uvfile a 1 {} 3 0\naaauvigot b 2 {} 3\n", sha1("aaa"), sha1("bbb")));
}

TEST_CASE("an old client gets the error that it is too old for an unversioned file") {
  UvWorld world;
  world.say_as("oy", fmt::format("uvfile a 1 {} 3 0\naaa", sha3("aaa")));
  CHECK(world.error_as("o", "uvgimme a\n") == "Fossil version 2.0 or later required.");
  CHECK(world.say_as("o", kVersion + "uvgimme a\n").ends_with("\naaa"));
}

TEST_CASE("a file without content is not sent, and a name of several words is not listed") {
  UvWorld world;
  world.say_as("oy", uvfile("a", 1, "aaa"));
  world.sql("INSERT INTO unversioned(name,mtime,hash,sz,encoding) VALUES('b',1,'" + sha1("bbb") +
            "',0,0),('b c',1,'x',0,0),('d'||char(10)||'error e',1,'x',0,0)");
  CHECK(world.say_as("o", "uvgimme b\n").empty());
  CHECK(world.say_as("o", ask_catalogue(kOther)) ==
        fmt::format("pragma uv-pull-only\nuvigot a 1 {} 3\nuvigot b 1 {} 0\n", sha1("aaa"),
                    sha1("bbb")));
}

TEST_CASE("invalid unversioned files are refused and change nothing") {
  UvWorld world;
  world.say_as("oy", uvfile("a", 1, "aaa"));
  const std::string good = uvfile("b", 1, "bbb");
  const std::string hash = sha1("bbb");
  for (const std::string& bad : std::vector<std::string>{
           "uvfile b 1 " + sha1("other") + " 3 0\nbbb", "uvfile b 1 " + sha1("other") + " 0 0\n",
           "uvfile b 1 " + sha3("other") + " 3 0\nbbb", "uvfile b 1 - 3 0\nbbb"}) {
    CAPTURE(bad);
    CHECK(world.error_as("oy", good + bad) == "in uvfile line, HASH does not match CONTENT");
  }
  for (const std::string& bad : std::vector<std::string>{
           "uvfile b -1 " + hash + " 3 0\nbbb", "uvfile b x " + hash + " 3 0\nbbb",
           "uvfile b 9223372036854775808 " + hash + " 3 0\nbbb", "uvfile b 1 abc 3 0\nbbb",
           "uvfile b 1 " + hash + " 3 x\nbbb", "uvfile b 1 " + hash + " x 0\nbbb",
           "uvfile b 1 " + hash + " x 4\n", "uvfile b 1 " + hash + " 3\nbbb",
           "uvfile /b 1 " + hash + " 3 0\nbbb", "uvfile ../b 1 " + hash + " 3 0\nbbb",
           "uvfile a/../b 1 " + hash + " 3 0\nbbb", "uvfile a\\b 1 " + hash + " 3 0\nbbb",
           "uvfile \xff 1 " + hash + " 3 0\nbbb"}) {
    CAPTURE(bad);
    CHECK(world.error_as("oy", good + bad).starts_with("malformed uvfile line"));
  }
  CHECK(world.error_as("oy", good + "uvfile b 1 " + hash + " 4 0\nbbb") ==
        "malformed uvfile line: 4 bytes announced, but the body ends after 3");
  CHECK(world.error_as("oy", "uvgimme ../b\n") == "bad command: uvgimme ../b\n");
  CHECK(world.error_as("oy", "uvigot b 1 " + hash + " 3\n").starts_with("bad command: uvigot b"));
}

TEST_CASE("names of unversioned files are relative paths in UTF-8 without \"..\"") {
  for (const char* name : {"a", ".a", "..a", "a/b", "a/.b", "a/..b", "-x", "a*b", "\xc3\xa4",
                           "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    CAPTURE(name);
    CHECK(is_unversioned_name(name));
  }
  for (const char* name :
       {"", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/..", "a/../b", "a\\b", "\xff",
        "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\xaf"}) {
    CAPTURE(name);
    CHECK_FALSE(is_unversioned_name(name));
  }
}
