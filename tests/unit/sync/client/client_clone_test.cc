// Tests clones. The client stores artifacts as they arrive, and checks and processes them at the
// end.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <vector>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "quarry/artifact/digest.h"
#include "quarry/repository/whole_file.h"
#include "quarry/sync/client_session.h"
#include "temporary_folder.h"
#include "world.h"

using namespace quarry::sync;
using quarry::base::ErrorCode;
using quarry::base::Result;
using quarry::repository::Repository;

namespace {

const std::string kEnd = "clone_seqno 0\n" + kCodes;

std::string cfile_of(const std::string& name, const std::string& source, std::size_t size,
                     const std::string& payload) {
  const std::string bytes = quarry::artifact::blob_compress(payload);
  const std::string from = source.empty() ? "" : source + " ";
  return fmt::format("cfile {} {}{} {}\n{}\n", name, from, size, bytes.size(), bytes);
}

/// Returns a cfile card with CONTENT as a compressed delta on SOURCE.
std::string cfile_delta(const std::string& content, const std::string& source) {
  return cfile_of(sha3(content), sha3(source), content.size(),
                  quarry::artifact::delta_create(source, content));
}

/// A repository into which a client clones. The test supplies the server's replies.
struct Clone {
  explicit Clone(ClientOptions chosen = {}) : path(folder.path() / "clone.fossil") {
    REQUIRE(quarry::repository::init_for_clone(path, "me").has_value());
    file = std::move(*Repository::open(path, {.is_unfinished = true}));
    chosen.clone = true;
    session = std::make_unique<ClientSession>(*file, std::move(chosen));
  }
  Result<void> take(const std::string& cards) {
    auto request = session->next_request();
    REQUIRE(request.has_value());
    requests.push_back(*quarry::artifact::blob_expand(request->body, 1 << 20));
    return session->take_reply("application/x-fossil-uncompressed", cards);
  }
  /// Takes CARDS as the last artifacts of the clone, and then an empty configuration.
  void take_all(const std::string& cards) {
    const auto done = take(cards + kEnd);
    REQUIRE_MESSAGE(done.has_value(), (done ? "" : done.error().message));
    REQUIRE_FALSE(session->is_done());
    REQUIRE(take("").has_value());
    CHECK(session->is_done());
  }
  std::size_t count() {
    std::size_t found = 0;
    REQUIRE(file->names().visit_names([&](const auto&) { ++found; }));
    return found;
  }
  std::string faults() {
    REQUIRE(file->make_durable().has_value());
    const auto verified = quarry::repository::verify(path);
    REQUIRE(verified.has_value());
    CHECK(verified->order_dependent.empty());
    return verified->faults.empty() ? "" : verified->faults.front();
  }

  TemporaryFolder folder;
  std::filesystem::path path;
  std::unique_ptr<Repository> file;
  std::unique_ptr<ClientSession> session;
  std::vector<std::string> requests;
};

std::string repeating_text(int number) {
  std::string text;
  for (int line = 0; line < 60; ++line) text += fmt::format("line {} of {}\n", line, number % 7);
  return text + fmt::format("and number {}\n", number);
}

/// Returns CARDS, which must be sorted, with their Z card.
std::string with_checksum(std::string cards) {
  return cards + "Z " + quarry::artifact::md5_hex(cards) + "\n";
}

}  // namespace

TEST_CASE("a clone is correct in whatever order artifacts arrive and however they are stored") {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<std::string> texts;
    for (int i = 0; i < 60; ++i) texts.push_back(repeating_text(i));
    std::vector<std::string> cards;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      // Most artifacts are deltas on one of the next two artifacts. The others are stored whole.
      const std::size_t source = std::min(texts.size() - 1, i + 1 + random() % 2);
      cards.push_back(i == source || random() % 8 == 0
                          ? cfile_of(sha3(texts[i]), "", texts[i].size(), texts[i])
                      : random() % 4 == 0 ? file_delta(texts[i], texts[source])
                                          : cfile_delta(texts[i], texts[source]));
    }
    std::ranges::shuffle(cards, random);
    Clone clone;
    std::string reply;
    for (std::size_t i = 0; i < cards.size(); ++i) {
      // Sends some artifacts twice.
      reply += cards[i] + (random() % 10 == 0 ? cards[i] : "");
      if (i % 20 == 19 && i + 1 < cards.size()) {
        REQUIRE(clone.take(reply + fmt::format("clone_seqno {}\n", i + 2) + kCodes).has_value());
        reply.clear();
      }
    }
    clone.take_all(reply);
    CHECK(clone.count() == texts.size());
    CHECK(clone.session->figures().artifacts_received == texts.size());
    CHECK(clone.faults() == "");
    const auto first = clone.file->find(*quarry::artifact::HashName::parse(sha3(texts[0])));
    REQUIRE(first.has_value());
    CHECK(clone.file->content(first->rid) == texts[0]);
  }
}

TEST_CASE("artifacts that do not match their hashes fail the clone") {
  // The delta consists mostly of copies, so its result depends on the source.
  const std::string good = repeating_text(1), other = good + "and more\n",
                    third = repeating_text(3);
  const std::string delta = quarry::artifact::delta_create(good, other);
  std::string wrong;
  auto code = ErrorCode::kInvalid;
  std::string expected = sha3(other);
  SUBCASE("other content") {
    wrong = cfile_of(sha3(other), "", third.size(), third);
  }
  SUBCASE("other content by a delta") {
    wrong = cfile_of(sha3(other), sha3(good), third.size(),
                     quarry::artifact::delta_create(good, third));
  }
  SUBCASE("a wrong size") {
    wrong = cfile_of(sha3(other), "", other.size() + 1, other);
    expected += ": it is";
  }
  SUBCASE("a broken stream") {
    wrong = fmt::format("cfile {} {} 12\n{}\n", sha3(other), other.size(),
                        std::string("\0\0\0\7broken!!", 12));
  }
  SUBCASE("a broken delta") {
    wrong = cfile_of(sha3(other), sha3(good), other.size(), delta.substr(0, delta.size() - 4));
  }
  SUBCASE("a delta with a wrong source") {
    wrong = cfile(third) + cfile_of(sha3(other), sha3(third), other.size(), delta);
  }
  SUBCASE("two deltas on each other") {
    wrong = cfile_delta(other, third) + cfile_delta(third, other);
  }
  SUBCASE("a delta on itself") {
    wrong = cfile_of(sha3(other), sha3(other), other.size(), delta);
  }
  SUBCASE("fewer bytes than the size field has") {
    wrong = fmt::format("cfile {} {} 2\nab\n", sha3(other), other.size());
  }
  SUBCASE("more than the limit") {
    wrong = fmt::format("cfile {} 99999999999 8\n{}\n", sha3(other),
                        std::string("\xff\xff\xff\xff"
                                    "abcd",
                                    8));
    code = ErrorCode::kLimit;
  }
  SUBCASE("a tag that crashes every rebuild by fossil") {
    const std::string harm =
        with_checksum(fmt::format("D 2020-01-01T00:00:00\nT +parent {}\nU me\n", sha3(good)));
    wrong = cfile(harm);
    expected = sha3(harm) + ": its tag `parent`";
  }
  SUBCASE("the same tag, escaped") {
    const std::string harm =
        with_checksum(fmt::format("D 2020-01-01T00:00:00\nT +\\parent {}\nU me\n", sha3(good)));
    wrong = cfile(harm);
    expected = sha3(harm) + ": its tag `parent`";
  }
  Clone clone;
  // The first of two replies contains the invalid artifact.
  auto done = clone.take(wrong + "clone_seqno 9\n" + kCodes);
  if (done) done = clone.take(cfile(good) + kEnd);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().code == code);
  CHECK_MESSAGE(done.error().message.contains("artifact " + expected), done.error().message);
}

TEST_CASE("missing delta sources of a clone's artifacts are requested") {
  const std::string source = repeating_text(1), made = repeating_text(2);
  Clone clone;
  REQUIRE(clone.take(cfile_delta(made, source) + kEnd).has_value());
  REQUIRE_FALSE(clone.session->is_done());
  SUBCASE("which arrives") {
    REQUIRE(clone.take(file(source)).has_value());
    CHECK(clone.requests[1].contains("gimme " + sha3(source) + "\n"));
    CHECK(clone.session->is_done());
    CHECK(clone.count() == 2);
    CHECK(clone.faults() == "");
  }
  SUBCASE("which arrives with other content") {
    CHECK_FALSE(clone.take("file " + sha3(source) + " 5\nwrong").has_value());
  }
  SUBCASE("which does not arrive") {
    const auto done = clone.take("");
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().message.starts_with("the clone is incomplete"));
  }
}

TEST_CASE("a phantom mentioned in a clone is filled") {
  const std::string text = repeating_text(1);
  Clone clone;
  REQUIRE(clone.take("igot " + sha3(text) + "\nclone_seqno 2\n" + kCodes).has_value());
  clone.take_all(cfile(text));
  CHECK(clone.file->names().phantoms(10, true).empty());
  CHECK(clone.faults() == "");
}

TEST_CASE("a public artifact is never a delta on a private one, even in a clone of both") {
  const std::string hidden = repeating_text(1), shown = repeating_text(2), more = repeating_text(3);
  ClientOptions options;
  options.with_private = true;
  Clone clone(options);
  clone.take_all(cfile_delta(shown, hidden) + "private\n" + cfile(hidden) + "private\n" +
                 cfile_delta(more, hidden));
  REQUIRE(clone.file->names().private_names().size() == 2);
  const auto stored = clone.file->find(*quarry::artifact::HashName::parse(sha3(shown)));
  REQUIRE(stored.has_value());
  const auto delta = clone.file->stored_delta(stored->rid);
  REQUIRE(delta.has_value());
  CHECK_FALSE(delta->has_value());
  CHECK(clone.faults() == "");
}

TEST_CASE("a clone reports its progress, and can be stopped") {
  std::string cards;
  for (int i = 0; i < 50; ++i) cards += cfile(repeating_text(i));
  std::size_t last = 0;
  ClientOptions options;
  options.watch.progress = [&](std::size_t done, std::size_t total) {
    CHECK(total == 50);
    CHECK(done == ++last);
  };
  SUBCASE("to its end") {
    Clone clone(options);
    clone.take_all(cards);
    CHECK(last == 50);
  }
  SUBCASE("stopped") {
    options.watch.is_interrupted = [&] { return last == 20; };
    Clone clone(options);
    const auto done = clone.take(cards + kEnd);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code == ErrorCode::kIo);
    CHECK(last == 20);
  }
}
