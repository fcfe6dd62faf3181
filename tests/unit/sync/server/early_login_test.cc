
#include <doctest/doctest.h>

#include <algorithm>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/blob_reader.h"
#include "world.h"

using namespace quarry::sync;

namespace {

const std::string kFailedLogin = "error login\\sfailed\n";
const std::string kTooLarge = "the request is larger than 1000 bytes: log in first\n";

/// Returns a pull with SIZE bytes. By default it exceeds the limit for requests without a login.
std::string large(std::size_t size = 100'000) {
  std::string body = kPullCard;
  while (body.size() + 2 < size) {
    body += "#" + std::string(std::min<std::size_t>(size - body.size() - 2, 1000), 'x') + "\n";
  }
  return body + std::string(size - body.size(), '\n');
}

struct Sizes : World {
  Sizes() {
    options.max_body_without_login = 1000;
    options.max_body = 1'000'000;
  }
  /// Returns the reply to CARDS. Requires that compressed and uncompressed cards get the same
  /// reply.
  std::string reply_text(const std::string& cards, std::string_view cookie = {},
                         LoginGuard* logins = nullptr) {
    const Reply plain = ask({.body = cards, .cookie = cookie, .logins = logins});
    const Reply reply = ask({.content_type = "application/x-fossil",
                             .body = quarry::artifact::blob_compress(cards),
                             .cookie = cookie,
                             .logins = logins});
    CHECK(reply.status == plain.status);
    const std::string text = reply.status == 200
                                 ? quarry::artifact::blob_expand(reply.body, 1'000'000).value()
                                 : reply.body;
    CHECK(text == plain.body);
    CHECK((reply.status == 413) == (text == kTooLarge));
    return text;
  }
  bool is_granted(const std::string& cards, std::string_view cookie = {}) {
    return reply_text(cards, cookie).starts_with("igot " + initial());
  }
};

std::string signed_by(std::string_view user, std::string_view password, const std::string& body) {
  return login(user, secret_of(user, password), body);
}

std::string early_cookie(std::string_view user, std::string_view password, std::string_view body) {
  const std::string nonce = sha1(body);
  return "x-f-l-c=login+" + std::string(user) + "+" + nonce + "+" +
         sha1(nonce + secret_of(user, password));
}

struct RecordingGuard : LoginGuard {
  std::chrono::seconds wait(std::string_view user) override {
    asked = user;
    return pause;
  }
  void record(bool succeeded) override { recorded += asked + (succeeded ? "+" : "-"); }
  std::chrono::seconds pause{0};
  std::string asked;
  std::string recorded;
};

}  // namespace

TEST_CASE("the limit without a login is lower") {
  Sizes world;
  world.sql("UPDATE user SET cap='io' WHERE login='nobody'");
  CHECK(world.is_granted(large(1000)));
  CHECK(world.reply_text(large(1001)) == kTooLarge);
  CHECK(world.figures().error + "\n" == kTooLarge);
  CHECK(world.reply_text(kPushCard + file(std::string(2000, 'x'))) == kTooLarge);
  for (const std::string user : {"nobody", "anonymous"}) {
    CHECK(world.reply_text("login " + user + " " + sha1(large()) + " x\n" + large()) == kTooLarge);
  }
}

TEST_CASE("the limit with a login is higher") {
  Sizes world;
  CHECK(world.is_granted(signed_by("o", "pw", large())));
  CHECK(world.is_granted(large(), early_cookie("o", "pw", large())));
  CHECK(world.is_granted("# something\n\n" + signed_by("o", "pw", large())));
  const std::string nonce = sha3(large());
  CHECK(world.is_granted("login o " + nonce + " " + sha1(nonce + secret_of("o", "pw")) + "\n" +
                         large()));
  CHECK(world.ask({.body = large(1'000'001)}).status == 413);
}

TEST_CASE("a login is recognized wherever the pieces of its request end") {
  Sizes world;
  constexpr std::size_t kPiece = quarry::artifact::BlobReader::kPiece;
  const std::size_t card = signed_by("o", "pw", "").size();
  for (const std::size_t size : {kPiece - 1, kPiece, kPiece + 1, 2 * kPiece}) {
    CAPTURE(size);
    CHECK(world.is_granted(signed_by("o", "pw", large(size - card))));
    // A login card is found only in the first piece of the body.
    CHECK(world.is_granted("#" + std::string(size - card - 2, 'y') + "\n" +
                           signed_by("o", "pw", large())) == (size <= kPiece));
  }
}

TEST_CASE("a large request whose login fails is rejected") {
  Sizes world;
  CHECK(world.reply_text(signed_by("o", "wrong", large())).starts_with(kFailedLogin));
  CHECK(world.reply_text(signed_by("nobody-has-this", "pw", large())).starts_with(kFailedLogin));
  CHECK(world.reply_text(large(), early_cookie("o", "wrong", large())).starts_with(kFailedLogin));
  CHECK(world.reply_text(signed_by("reader", "pw", large())).starts_with(kFailedLogin));
  // The password is correct, but the signature is for a different body.
  CHECK(world.reply_text(signed_by("o", "pw", large()) + "#\n").starts_with(kFailedLogin));
  CHECK(world.reply_text(large(), early_cookie("o", "pw", large() + "#\n"))
            .starts_with(kFailedLogin));
  CHECK(world.reply_text("login o x y\n" + large()).starts_with(kFailedLogin));
}

TEST_CASE("the login guard is asked before a large request is checked, and notified after it") {
  Sizes world;
  RecordingGuard guard;
  world.reply_text(signed_by("o", "wrong", large()), {}, &guard);
  CHECK(guard.recorded == "o-o-");
  guard.recorded.clear();
  world.reply_text(signed_by("o", "pw", large()) + "#\n", {}, &guard);
  CHECK(guard.recorded.empty());
  CHECK(world.reply_text(signed_by("o", "pw", large()), {}, &guard).starts_with("igot "));
  CHECK(guard.recorded.find('-') == std::string::npos);
  guard.recorded.clear();
  guard.pause = std::chrono::seconds(7);
  CHECK(world.reply_text(signed_by("o", "pw", large()), {}, &guard)
            .starts_with("error too\\smany\\sfailed\\slogins:\\stry\\sagain\\sin\\s7\\ss\n"));
  CHECK(guard.recorded.empty());
}

TEST_CASE("a large request with broken compression is the client's fault") {
  Sizes world;
  const std::string blob = quarry::artifact::blob_compress(signed_by("o", "pw", large()));
  for (const std::string& broken : {blob + "x", blob.substr(0, blob.size() - 1)}) {
    CHECK(world.ask({.content_type = "application/x-fossil", .body = broken}).status == 400);
  }
}

TEST_CASE("users authenticated by the web server, and clients with all rights, may send more") {
  Sizes world;
  world.sql("INSERT INTO config(name,value) VALUES('remote_user_ok','1')");
  const std::string body = large();
  CHECK(world.ask({.body = body, .remote_user = "o"}).body.starts_with("igot "));
  CHECK(world.ask({.body = body, .remote_user = "who"}).status == 413);
  world.options.all_rights = true;
  CHECK(world.ask({.body = body}).body.starts_with("igot "));
}
