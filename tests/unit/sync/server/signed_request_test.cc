#include "quarry/sync/signed_request.h"

#include <doctest/doctest.h>

#include "world.h"

using namespace quarry::sync;
using quarry::base::UnixMillis;

namespace {

constexpr std::string_view kTarget = "/project/queue?type=DC";
constexpr std::string_view kDate = "2023-11-14T22:13:20.000Z";
constexpr UnixMillis kRequestTime{1700000000000};
constexpr std::string_view kBody = "a tarball";

std::string signed_cookie(std::string_view user, std::string_view password,
                          std::string_view date = kDate) {
  return sign_request(kProjectCode, user, password,
                      signed_text("POST", kTarget, date, body_hash(kBody)));
}

SignedHead head_with(std::string_view cookie, std::string_view date = kDate) {
  return {.method = "POST", .target = kTarget, .date = date, .cookie = cookie};
}

/// A guard that counts its calls.
struct RequestGuard : LoginGuard {
  std::chrono::seconds wait(std::string_view) override {
    ++asked;
    return delay;
  }
  void record(bool succeeded) override { ++(succeeded ? good : bad); }
  std::chrono::seconds delay{0};
  int asked = 0, good = 0, bad = 0;
};

/// Returns the error of the request, or an empty string if it is accepted.
std::string outcome(World& world, const SignedHead& head, std::string_view body = kBody,
                    LoginGuard* guard = nullptr) {
  SignedRequest request(world.repository(), guard);
  auto done = request.begin(head, kRequestTime);
  if (!done) return done.error().message;
  // Sends the body in two pieces.
  request.add_body(body.substr(0, 1));
  request.add_body(body.substr(1));
  done = request.confirm();
  return done ? "" : done.error().message;
}

}  // namespace

TEST_CASE("a signed request has the capabilities of its user and of nobody") {
  World world;
  world.sql("UPDATE user SET cap='gh' WHERE login='nobody'");
  SignedRequest request(world.repository(), nullptr);
  REQUIRE(request.begin(head_with(signed_cookie("ix", "pw")), kRequestTime));
  request.add_body(kBody);
  CHECK(request.confirm());
  CHECK(request.user().login == "ix");
  CHECK(request.user().letters == "ghix");
  CHECK(request.user().is_logged_in);
  CHECK(request.signature().size() == 40);
  CHECK(request.date() == kRequestTime);
}

TEST_CASE("a request without a login is from nobody") {
  World world;
  SignedRequest request(world.repository(), nullptr);
  REQUIRE(request.begin(head_with("", ""), kRequestTime));
  request.add_body(kBody);
  CHECK(request.confirm());
  CHECK(request.user().login == "nobody");
  CHECK_FALSE(request.user().is_logged_in);
  CHECK(request.signature().empty());
}

TEST_CASE("each part of a request is signed") {
  World world;
  const std::string cookie = signed_cookie("i", "pw");
  const SignedHead good = head_with(cookie);
  CHECK(outcome(world, good).empty());
  SignedHead other = good;
  other.method = "GET";
  CHECK(outcome(world, other) == "login failed");
  other = good;
  other.target = "/project/queue?type=EM";
  CHECK(outcome(world, other) == "login failed");
  other = good;
  other.date = "2023-11-14T22:13:20.001Z";
  CHECK(outcome(world, other) == "login failed");
  CHECK(outcome(world, good, "another tarball") == "login failed");
}

TEST_CASE("a wrong password, an unknown user and built-in users get the same error") {
  World world;
  for (const char* user : {"i", "x", "reader", "developer"}) {
    CHECK(outcome(world, head_with(signed_cookie(user, "wrong"))) == "login failed");
  }
}

TEST_CASE("a signature is valid for five minutes before and after") {
  World world;
  const auto at = [&](std::string_view date) {
    return outcome(world, head_with(signed_cookie("i", "pw", date), date));
  };
  CHECK(at("2023-11-14T22:18:20Z").empty());
  CHECK(at("2023-11-14T22:08:20").empty());
  CHECK(at("2023-11-14T22:18:20.001Z").find("more than 5 minutes") != std::string::npos);
  CHECK(at("2023-11-14T22:08:19.999Z").find("more than 5 minutes") != std::string::npos);
  CHECK(at("0000-01-01T00:00:00Z").find("more than 5 minutes") != std::string::npos);
  CHECK(at("9999-12-31T23:59:59Z").find("more than 5 minutes") != std::string::npos);
  CHECK(at("").find("needs the header X-Quarry-Date") != std::string::npos);
  CHECK(at("yesterday").find("needs the header X-Quarry-Date") != std::string::npos);
}

TEST_CASE("without a password, nothing about the clock is revealed") {
  World world;
  const std::string_view old = "2020-01-01T00:00:00Z";
  CHECK(outcome(world, head_with(signed_cookie("i", "wrong", old), old)) == "login failed");
}

TEST_CASE("the guard counts failures, and logins that pass both steps") {
  World world;
  RequestGuard guard;
  CHECK(outcome(world, head_with(signed_cookie("i", "wrong")), kBody, &guard) == "login failed");
  CHECK(guard.bad == 1);
  // A signature for another body does not prove that the password is wrong.
  CHECK(outcome(world, head_with(signed_cookie("i", "pw")), "x", &guard) == "login failed");
  CHECK(guard.bad == 1);
  CHECK(guard.good == 0);
  CHECK(outcome(world, head_with(signed_cookie("i", "pw")), kBody, &guard).empty());
  CHECK(guard.good == 1);
  guard.delay = std::chrono::seconds(7);
  CHECK(outcome(world, head_with(signed_cookie("i", "pw")), kBody, &guard) ==
        "too many failed logins: try again in 7 s");
}

TEST_CASE("a user authenticated by the web server needs no login if the repository agrees") {
  World world;
  SignedHead head = head_with("");
  head.remote_user = "i";
  SignedRequest stranger(world.repository(), nullptr);
  REQUIRE(stranger.begin(head, kRequestTime));
  CHECK(stranger.user().login == "nobody");
  world.sql("INSERT OR REPLACE INTO config(name,value,mtime) VALUES('remote_user_ok','1',1)");
  SignedRequest known(world.repository(), nullptr);
  REQUIRE(known.begin(head, kRequestTime));
  CHECK(known.confirm());
  CHECK(known.user().login == "i");
}

TEST_CASE("a name with special characters is signed and read the same") {
  World world;
  const std::string name = "a b;c=%+\\";
  world.add_user(name, "i", secret_of(name, "pw"));
  CHECK(outcome(world, head_with(signed_cookie(name, "pw"))).empty());
}

namespace {

const std::string kSecret(50, 'A');

/// Logs in ix on fossil's web pages. The login expires after DAYS.
void log_in_on_pages(World& world, std::string_view days) {
  world.sql("UPDATE user SET cookie='" + kSecret + "', cexpire=julianday('now')+" +
            std::string(days) + " WHERE login='ix'");
}

std::string page_cookie(std::string_view user = "ix", std::string_view secret = kSecret,
                        std::string_view code = kProjectCode) {
  return "a=b; fossil-" + std::string(code.substr(0, 16)) + "=" + std::string(secret) + "%2F" +
         std::string(code.substr(0, 16)) + "%2F" + std::string(user) + "; c=d";
}

/// Returns the user of a request with COOKIE, who is logged in on fossil's web pages.
RequestUser page_user(World& world, const std::string& cookie, bool takes_web_login = true) {
  SignedRequest request(world.repository(), nullptr);
  REQUIRE(request.begin(
      {.method = "GET", .target = kTarget, .cookie = cookie, .takes_web_login = takes_web_login},
      kRequestTime));
  CHECK(request.confirm());
  CHECK(request.form_token().empty() == !request.user().is_logged_in);
  CHECK(request.is_form_token(request.form_token()) == request.user().is_logged_in);
  CHECK_FALSE(request.is_form_token(""));
  CHECK_FALSE(request.is_form_token(kSecret));
  CHECK_FALSE(request.form_token().contains(kSecret.substr(0, 10)));
  return request.user();
}

}  // namespace

TEST_CASE("a login on fossil's web pages gives the capabilities that the user has there") {
  World world;
  world.sql("UPDATE user SET cap='g' WHERE login='nobody'");
  world.sql("UPDATE user SET cap='hz' WHERE login='anonymous'");
  log_in_on_pages(world, "1");
  const RequestUser user = page_user(world, page_cookie());
  CHECK(user.is_logged_in);
  CHECK(user.login == "ix");
  CHECK(user.letters == "ghixz");
  CHECK_FALSE(page_user(world, page_cookie(), /*takes_web_login=*/false).is_logged_in);
}

TEST_CASE("a wrong, old or special login on fossil's web pages is ignored") {
  World world;
  log_in_on_pages(world, "1");
  CHECK(page_user(world, page_cookie()).is_logged_in);
  for (const std::string& cookie :
       {page_cookie("ix", std::string(50, 'B')), page_cookie("ix", ""), page_cookie("anonymous"),
        page_cookie("nobody"), page_cookie("none"), page_cookie("ix", kSecret.substr(1)),
        page_cookie("ix", kSecret, "0123456789abcdef"), std::string("fossil-="), std::string()}) {
    CAPTURE(cookie);
    CHECK_FALSE(page_user(world, cookie).is_logged_in);
  }
  world.sql("UPDATE user SET cookie='', cexpire=julianday('now')+1 WHERE login<>'ix'");
  CHECK_FALSE(page_user(world, page_cookie("oxi", "")).is_logged_in);
  log_in_on_pages(world, "-10000");
  CHECK_FALSE(page_user(world, page_cookie()).is_logged_in);
  log_in_on_pages(world, "1");
  world.sql("UPDATE user SET pw='' WHERE login='ix'");
  CHECK_FALSE(page_user(world, page_cookie()).is_logged_in);
}

TEST_CASE("in a login group, the cookie has the code of the group") {
  World world;
  log_in_on_pages(world, "1");
  world.sql(
      "INSERT INTO config(name,value,mtime) VALUES('login-group-code','0123456789abcdef01',1)");
  CHECK(page_user(world, page_cookie("ix", kSecret, "0123456789abcdef01")).login == "ix");
  CHECK_FALSE(page_user(world, page_cookie()).is_logged_in);
}

TEST_CASE("a login on fossil's web pages replaces the user of the web server") {
  World world;
  log_in_on_pages(world, "1");
  world.sql("INSERT OR REPLACE INTO config(name,value,mtime) VALUES('remote_user_ok','1',1)");
  world.sql("INSERT INTO user(login,pw,cap,info,mtime) VALUES('chief','x','s','',0)");
  SignedRequest request(world.repository(), nullptr);
  const std::string cookie = page_cookie();
  REQUIRE(request.begin({.method = "GET",
                         .target = kTarget,
                         .cookie = cookie,
                         .remote_user = "chief",
                         .takes_web_login = true},
                        kRequestTime));
  CHECK(request.user().login == "ix");
  CHECK_FALSE(request.user().letters.contains('s'));
}
