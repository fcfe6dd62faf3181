#include "login/guess.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "login/fields.h"

using namespace quarry::pages;
using Kind = Guess::Kind;

namespace {

const PageNames kPages{"login", "timeline", "json", "attachadd"};
constexpr char kForm[] = "application/x-www-form-urlencoded";

struct Asked {
  std::string path;
  std::string query = {};
  std::string body = {};
  std::string type = kForm;
  std::vector<Parameter> more = {};
};

PageRequest request_of(const Asked& asked) {
  PageRequest request{.parameters = asked.more,
                      .body = quarry::base::EventBufferPtr(evbuffer_new())};
  request.parameters.push_back({"QUERY_STRING", asked.query});
  request.parameters.push_back({"CONTENT_TYPE", asked.type});
  evbuffer_add(request.body.get(), asked.body.data(), asked.body.size());
  return request;
}

auto guesses_of(const Asked& asked, const PageNames& pages = kPages, bool trust = false) {
  const ServedRepositories served{.repository = "/r.fossil", .repositories = {}};
  return guesses_in(request_of(asked), target_of(served, asked.path).value(), pages, trust);
}

/// Requires at most one guess. Returns its kind and user, "none" without a guess, or the status if
/// the request is refused.
std::string only(const Asked& asked, const PageNames& pages = kPages) {
  const auto guesses = guesses_of(asked, pages);
  if (!guesses) return std::to_string(guesses.error().status);
  if (guesses->empty()) return "none";
  REQUIRE(guesses->size() == 1);
  constexpr const char* kKinds[] = {"form", "json", "basic", "change", "group"};
  return std::string(kKinds[static_cast<std::size_t>(guesses->front().kind)]) + " " +
         guesses->front().user;
}

Asked basic(std::string header, std::string path = "/timeline") {
  return {.path = std::move(path), .more = {{"HTTP_AUTHORIZATION", std::move(header)}}};
}

Asked json_body(std::string body, std::string path = "/json/login", std::string query = {}) {
  return {.path = std::move(path),
          .query = std::move(query),
          .body = std::move(body),
          .type = "application/json"};
}

}  // namespace

TEST_CASE("a login through the page is recognized, wherever its parameters are") {
  for (const char* path : {"/login", "//login", "/login/x", "/alias", "/login/"}) {
    CAPTURE(path);
    CHECK(only({path, "", "u=ann&p=x"}) == "form ann");
    CHECK(only({path, "u=ann&p=x"}) == "form ann");
    CHECK(only({path, "u=ann", "p=x"}) == "form ann");
    CHECK(only({.path = path, .more = {{"HTTP_COOKIE", "a=b; u=ann; p=x"}}}) == "form ann");
    CHECK(only({.path = path, .more = {{"HTTP_COOKIE", "u=ann"}, {"HTTP_COOKIE", "p=x"}}}) ==
          "form ann");
  }
}

TEST_CASE("names and values are read as fossil reads them") {
  CHECK(only({"/login", "U=ann&P=x"}) == "form ann");
  CHECK(only({"/login", "\n u=an%6E&p=x"}) == "form ann");
  CHECK(only({"/login", "u=ann%00x&p=x"}) == "form ann");
  CHECK(only({"/login", "u=a+b%2&p=x"}) == "form a b%2");
  CHECK(only({"/login", "u=%4z&p=x"}) == "form %4z");
  CHECK(only({"/login", "u=&p=x"}) == "form ");
  CHECK(only({"/login", "", "u=ann&p=x" + std::string(1, '\0') + "&u=bob"}) == "form ann");
  CHECK(only({"/login", "", std::string(100'000, 'x') + "&u=ann&p=x"}) == "form ann");
}

TEST_CASE("a login in a multipart form is recognized") {
  const auto part = [](std::string head, std::string content) {
    return "--x\r\n" + std::move(head) + "\r\n\r\n" + std::move(content) + "\r\n";
  };
  constexpr char kParts[] = "multipart/form-data; boundary=y";
  const std::string password =
      part("Content-Disposition: form-data; name=\"p\"", "x") + "--x--\r\n";
  for (const char* head : {"Content-Disposition: form-data; name=\"u\"", "name= u",
                           "X: y\r\nNA \"U\" z", "name=\"a\"\r\nname=\"u\"", "a;name=\"u"}) {
    CAPTURE(head);
    for (const char* path : {"/login", "/alias"}) {
      CHECK(only({path, "", part(head, "ann") + password, kParts}) == "form ann");
    }
  }
  const std::string user = part("name=\"u\"", "ann");
  CHECK(only({"/login", "u=ann", password, kParts}) == "form ann");
  CHECK(only({"/login", "u=bob", user + password, kParts}) == "400");
  CHECK(only({"/login", "", user, kParts}) == "none");
  CHECK(only({"/login", "", part("name=u", "ann") + password, kParts}) == "none");
  // The content of a file contains text that resembles the header of a part.
  CHECK(only({"/alias", "",
              part("name=\"f\"; filename=\"f\"", "\r\nname=\"u\"\r\n\r\nann") + password,
              kParts}) == "none");
  CHECK(only({"/alias", "", part("name=\"f\"", std::string(2 << 20, 'x')) + user + password,
              kParts}) == "form ann");
  CHECK(only({"/login", "", part("name=\"u\"", std::string("ann\0x", 5)) + password, kParts}) ==
        "form ann");
  CHECK(only({"/login", "", "--x\nname=\"u\"\n\nann\n--x\nname=\"p\"\n\nx\n--x--", kParts}) ==
        "form ann");
  CHECK(only({"/login", "", "--x", kParts}) == "none");
}

TEST_CASE("other requests are not logins") {
  CHECK(only({"/login"}) == "none");
  CHECK(only({"/login", "u=ann&p="}) == "none");
  CHECK(only({"/login", "p=x"}) == "none");
  CHECK(only({"/login", "%75=ann&p=x"}) == "none");
  CHECK(only({"/timeline", "u=ann&p=x"}) == "none");
  CHECK(only({"/", "u=ann&p=x"}) == "none");
  CHECK(only({"/login", "u=anonymous&p=12345678&cs=5"}) == "none");
  CHECK(only({"/attachadd", "", std::string(2 << 20, 'x'), "multipart/form-data; boundary=x"}) ==
        "none");
  // Aliases are recognized only with a list of fossil's pages.
  CHECK(only({"/alias", "u=ann&p=x"}, {}) == "none");
}

TEST_CASE("ambiguous or implausible logins are refused") {
  CHECK(only({"/login", "u=ann", "u=bob&p=x"}) == "400");
  CHECK(only({"/login", "u=ann&u=bob&p=x"}) == "400");
  CHECK(only({"/login", "u=ann&U=ann&p=x"}) == "form ann");
  CHECK(only({"/login", "", std::string(2 << 20, 'x')}) == "413");
  CHECK(only(json_body("{]")) == "400");
  CHECK(only({.path = "/timeline",
              .more = {{"HTTP_AUTHORIZATION", "Basic YW5uOng="}, {"HTTP_AUTHORIZATION", "x"}}}) ==
        "400");
}

TEST_CASE("pages that may accept a password are recognized, whatever their name") {
  const auto takes = [](const char* page, const PageNames& pages) {
    return takes_passwords({.file = "/r.fossil", .page = page}, pages);
  };
  for (const char* page : {"login", "json", "setup_login_group", "alias"}) {
    CAPTURE(page);
    CHECK(takes(page, kPages));
  }
  for (const char* page : {"", "timeline", "attachadd"}) {
    CAPTURE(page);
    CHECK_FALSE(takes(page, kPages));
  }
  CHECK_FALSE(takes("alias", {}));
}

TEST_CASE("a login through the JSON API is recognized") {
  const std::string right = R"({"payload":{"name":"ann","password":"x"}})";
  for (const char* path : {"/json/login", "/json//login", "/json", "/json/", "/json/%6cogin"}) {
    CAPTURE(path);
    CHECK(only(json_body(right, path)) == "json ann");
    CHECK(only({path, "name=ann&password=x"}) == "json ann");
    CHECK(only({path, "", "n=ann&p=x"}) == "json ann");
  }
  CHECK(only(json_body(R"({"payload":{"\u006eame":"\u0061nn","p\u0061ssword":"x"}})")) ==
        "json ann");
  CHECK(only(json_body(R"({"payload":{"name":"ann\u0000b","password":"x"}})")) == "json ann");
  CHECK(only(json_body(R"({"payload":{"name":"bob","name":"ann","password":"x"}})")) == "400");
  CHECK(only(json_body(right, "/json/login", "name=bob")) == "400");
  CHECK(only(json_body(R"({"payload":{"name":"anonymous","password":"x","anonymousSeed":5}})")) ==
        "none");
  CHECK(only(json_body(R"({"payload":{"name":"ann"}})")) == "none");
  CHECK(only(json_body(right, "/json/wiki/save")) == "none");
}

TEST_CASE("a login in the Authorization header is recognized") {
  CHECK(only(basic("Basic YW5uOng=")) == "basic ann");
  CHECK(only(basic("  basic \t YW5uOng6eQ==")) == "basic ann");
  CHECK(only(basic("Basic YW5u")) == "none");
  CHECK(only(basic("Bearer YW5uOng=")) == "none");
  CHECK(only(basic("")) == "none");
  const auto both = guesses_of(
      {.path = "/login", .query = "u=bob&p=x", .more = {{"HTTP_AUTHORIZATION", "Basic YW5uOng="}}});
  REQUIRE(both.has_value());
  CHECK(*both ==
        std::vector<Guess>{{Kind::kForm, "/r.fossil", "bob"}, {Kind::kBasic, "/r.fossil", "ann"}});
  // REMOTE_USER names a user whose password the web server has already checked.
  Asked named = basic("Basic YW5uOng=");
  named.more.push_back({"REMOTE_USER", "ann"});
  CHECK(guesses_of(named, kPages, /*trust=*/true)->empty());
  CHECK(guesses_of(named, kPages, /*trust=*/false)->size() == 1);
  named.more.back().value = "bob";
  CHECK(guesses_of(named, kPages, /*trust=*/true)->size() == 1);
}

TEST_CASE("base64 is read as fossil reads it") {
  CHECK(base64_as_fossil_does("YW5uOng=") == "ann:x");
  CHECK(base64_as_fossil_does("YW5uOng====") == "ann:x");
  CHECK(base64_as_fossil_does("YW5uOg==") == "ann:");
  CHECK(base64_as_fossil_does("QQ-B") == base64_as_fossil_does("QQAB").substr(0, 1));
  CHECK(base64_as_fossil_does("") == "");
  CHECK(base64_as_fossil_does("====") == "");
}

TEST_CASE("an old password, and that of another repository's administrator, are recognized") {
  Asked change{.path = "/login",
               .body = "p=x&n1=y&n2=y",
               .more = {{"HTTP_COOKIE", "fossil-1a=AB%2Fcd%2Fann; other=a/b/c"}}};
  CHECK(only(change) == "change ann");
  change.body = "p=x&n1=y";
  CHECK(only(change) == "none");
  change.body = "p=x&n1=y&n2=y";
  for (int i = 0; i < 20; ++i)
    change.more[0].value += "; fossil-" + std::to_string(i) + "=a/b/" + std::to_string(i);
  CHECK(only(change) == "400");
  CHECK(only({"/setup_login_group", "", "repo=/x/../o.fossil&login=boss&pw=x"}) == "group boss");
  CHECK(guesses_of({"/setup_login_group", "", "repo=/x/../o.fossil&login=boss&pw=x"})
            ->front()
            .repository == "/o.fossil");
  CHECK(only({"/setup_login_group", "", "repo=a&repo=b&login=boss&pw=x"}) == "400");
  CHECK(only({"/setup_login_group", "", "repo=a&login=boss"}) == "none");
}

TEST_CASE("only as many repeated values are kept as show that there are too many") {
  std::string users = "p=x", cookies;
  for (int i = 0; i < 100'000; ++i) {
    users += "&u=" + std::to_string(i) + "&&&of-no-interest" + std::to_string(i) + "=1";
    cookies += "fossil-" + std::to_string(i) + "=" + std::to_string(i) + "; ";
  }
  Fields fields;
  fields.add_pairs(users, '&');
  fields.add_pairs(cookies, ';');
  CHECK(fields.values("u").size() == Fields::kMaxValues);
  CHECK(fields.cookies().size() == Fields::kMaxValues);
  CHECK(fields.has("p"));
  CHECK_FALSE(fields.has("of-no-interest1"));
  CHECK(only({.path = "/login", .body = std::string(900'000, '&') + "u=ann&p=x"}) == "form ann");
  CHECK(only({.path = "/unknown", .body = std::string(9'000'000, '&') + "u=ann&p=x"}) ==
        "form ann");
}
