#include "cards/card_reader.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace quarry::sync;
using quarry::base::ErrorCode;
using Words = std::vector<std::string>;

namespace {

Words words_of(const CardReader& reader) {
  Words words;
  for (std::size_t i = 0; i < reader.size(); ++i) words.emplace_back(reader[i]);
  return words;
}

/// Returns the words of each card in BODY. After an error, the last element is "error: …".
std::vector<Words> read_all(std::string_view body, const CardLimits& limits = {}) {
  CardReader reader(body, limits);
  std::vector<Words> cards;
  while (true) {
    const auto more = reader.next();
    if (!more) {
      cards.push_back({"error: " + more.error().message});
      return cards;
    }
    if (!*more) return cards;
    cards.push_back(words_of(reader));
  }
}

const std::string kSha1(40, 'a');
const std::string kSha3(64, 'b');

}  // namespace

TEST_CASE("cards are split at white space, and white space around them is ignored") {
  CHECK(read_all("pull a b\n") == std::vector<Words>{{"pull", "a", "b"}});
  CHECK(read_all("  \t pull  a\tb \r\n") == std::vector<Words>{{"pull", "a", "b"}});
  CHECK(read_all("cookie x\nprivate\n") == std::vector<Words>{{"cookie", "x"}, {"private"}});
  CHECK(read_all("private\ncookie x") == std::vector<Words>{{"private"}, {"cookie", "x"}});
}

TEST_CASE("blank lines and comments are not cards") {
  CHECK(read_all("").empty());
  CHECK(read_all("\n\n \t \r\n# comment foo\n   # another\n#\n").empty());
  CHECK(read_all("\n# x\nprivate\n\n") == std::vector<Words>{{"private"}});
}

TEST_CASE("an unknown operator is a bad command that is quoted in the error") {
  const auto error_in = [](std::string_view body) { return read_all(body).at(0).at(0); };
  for (const std::string card :
       {"foo bar", "PULL a b", "error x", "message x", "clone_seqno 3", "uvigot a 1 h 3"}) {
    CHECK(error_in(card + "\nprivate\n") == "error: bad command: " + card + "\n");
  }
  CHECK(error_in("foo \xff\x1b\n") == "error: bad command: foo \\xff\\x1b\n");
  CHECK(error_in(std::string_view("pul\0l a b\n", 10)) == "error: bad command: pul\\x00l a b\n");
  CHECK(error_in(std::string(60000, 'x') + "\n").size() < 300);
  // This card has more words than the reader allows.
  CHECK(error_in("pragma x x x x x x x x x x x x x x x x").starts_with("error: bad command: prag"));
}

TEST_CASE("a wrong number of words is a bad command") {
  for (const std::string_view card :
       {"pull a",        "pull a b c", "push",         "push a",  "push a b c",
        "igot",          "gimme",      "gimme a b",    "login",   "login a b",
        "login a b c d", "cookie",     "cookie a b",   "pragma",  "reqconfig",
        "reqconfig a b", "config a",   "config a b c", "uvgimme", "uvgimme a b"}) {
    CAPTURE(card);
    CHECK(read_all(card) ==
          std::vector<Words>{{"error: bad command: " + std::string(card) + "\n"}});
  }
}

TEST_CASE("a file card with a wrong number of words is malformed") {
  for (const std::string_view card :
       {"file", "file a", "file a b c d", "cfile a b", "cfile a b c d e", "uvfile a b c d",
        "uvfile a b c d e f", "uvfile a b c 1 x"}) {
    CAPTURE(card);
    const std::string name(card.substr(0, card.find(' ')));
    CHECK(read_all(card) == std::vector<Words>{{"error: malformed " + name + " line"}});
  }
}

TEST_CASE("extra words of newer clients in open-ended cards are accepted") {
  CHECK(read_all("igot a 1 x\nclone\nclone 3 1\npragma a b c d e f\nprivate x\n").size() == 5);
}

TEST_CASE("a card with content is followed by its bytes, and those by the next card") {
  const auto payloads = [](const std::string& body) {
    CardReader reader(body);
    std::vector<std::string> seen;
    while (reader.next().value()) {
      seen.push_back(std::string(reader[0]) + ":" + std::string(reader.payload()));
    }
    return seen;
  };
  CHECK(payloads("file " + kSha1 + " 5\nab\ncdprivate\nfile " + kSha3 + " " + kSha1 + " 0\nfile " +
                 kSha1 + " 3\nxyz") == Words{"file:ab\ncd", "private:", "file:", "file:xyz"});
  for (const std::string between : {"", "\n"}) {
    CHECK(payloads("cfile " + kSha1 + " 100 4\nzzzz" + between + "cfile " + kSha3 + " " + kSha1 +
                   " 100 2\nz\n" + "private\n") == Words{"cfile:zzzz", "cfile:z\n", "private:"});
  }
  CHECK(payloads("config /user 3\nabc\nprivate\n") == Words{"config:abc", "private:"});
  // One file is deleted, and the content of another file is omitted.
  CHECK(payloads("uvfile a 1 h 3 0\nabcuvfile b 1 - 0 1\nuvfile c 1 h 7 4\nprivate\n") ==
        Words{"uvfile:abc", "uvfile:", "uvfile:", "private:"});
}

TEST_CASE("an invalid or false size is an error") {
  for (const std::string size : {"-1", "x", "1x", "+1", "0x1", "1.0", "99999999999999999999999",
                                 "18446744073709551615", "4294967296", "4"}) {
    for (const std::string& card :
         {"file " + kSha1 + " ", "file " + kSha1 + " " + kSha3 + " ", "cfile " + kSha1 + " 9 "}) {
      CAPTURE(card + size);
      const auto cards = read_all(card + size + "\nabc");
      REQUIRE(cards.size() == 1);
      CHECK(
          cards[0][0].starts_with("error: malformed " + card.substr(0, card.find(' ')) + " line"));
    }
  }
  for (const std::string_view body : {"config /user x\nabc", "config /user 4\nabc",
                                      "uvfile a 1 h x 0\n", "uvfile a 1 h 4 0\nabc"}) {
    CAPTURE(body);
    CHECK(read_all(body).at(0).at(0).starts_with("error: "));
  }
}

TEST_CASE("too many or too long cards are an error") {
  CardLimits limits;
  limits.max_cards = 2;
  limits.max_line = 20;
  CHECK(read_all("private\nprivate\n", limits).size() == 2);
  CHECK(read_all("private\nprivate\nprivate\n", limits).back() ==
        Words{"error: more than 2 cards in one request"});
  CHECK(read_all("# " + std::string(30, 'x') + "\n", limits).back() ==
        Words{"error: a card is longer than 20 bytes"});
  CHECK(read_all("# " + std::string(30, 'x'), limits).back() ==
        Words{"error: a card is longer than 20 bytes"});
  CardReader reader("private\nprivate\nprivate\n", limits);
  CHECK(reader.next().has_value());
  CHECK(reader.next().has_value());
  CHECK(reader.next().error().code == ErrorCode::kLimit);
}

TEST_CASE("a login signs everything after its newline") {
  CardReader reader("login u n s\npull a b\n# random\n");
  REQUIRE(reader.next().value());
  CHECK(reader.rest() == "pull a b\n# random\n");
  CardReader last("login u n s");
  REQUIRE(last.next().value());
  CHECK(last.rest().empty());
}
