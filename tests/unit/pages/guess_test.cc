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

Target target_at(std::string_view path) {
  const ServedRepositories served{.repository = "/r.fossil", .repositories = {}};
  return target_of(served, path).value();
}

auto guesses_of(const Asked& asked, const PageNames& pages = kPages, bool trust = false) {
  PageRequest request = request_of(asked);
  return guesses_in(request, target_at(asked.path), pages, trust);
}

/// Returns the cookies, query, content type and body that fossil gets.
std::string sent_for(const Asked& asked) {
  PageRequest request = request_of(asked);
  REQUIRE(guesses_in(request, target_at(asked.path), kPages, false).has_value());
  std::string body(evbuffer_get_length(request.body.get()), '\0');
  evbuffer_copyout(request.body.get(), body.data(), body.size());
  std::string sent;
  for (const char* name : {"HTTP_COOKIE", "QUERY_STRING", "CONTENT_TYPE"}) {
    sent.append(request.get(name)).append("|");
  }
  return sent + body;
}

/// Requires at most one guess. Returns the guess's kind and user, "none" without a guess, or the
/// status of a refused request.
std::string only(const Asked& asked, const PageNames& pages = kPages, bool trust = false) {
  const auto guesses = guesses_of(asked, pages, trust);
  if (!guesses) return std::to_string(guesses.error().status);
  if (guesses->empty() || guesses->front().kind == Kind::kHidden) return "none";
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
  for (const char* path : {"/login", "//login", "/login/x", "/alias", "/login/", "/logout", "/my",
                           "/draft1/login", "/%6Cogin", "/login%00x", "/draft9/alias"}) {
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

namespace {

constexpr char kParts[] = "multipart/form-data; boundary=y";
constexpr char kDisposition[] = "Content-Disposition: form-data; name=\"";

std::string part_with(std::string head, std::string content) {
  return "--x\r\n" + std::move(head) + "\r\n\r\n" + std::move(content) + "\r\n";
}

std::string part(std::string name, std::string content) {
  return part_with(kDisposition + std::move(name) + "\"", std::move(content));
}

const std::string kPasswordPart = part("p", "x") + "--x--\r\n";

/// Returns the guess in the multipart form BODY, sent to an alias of the login page.
std::string in_parts(std::string body) {
  return only({"/alias", "", std::move(body), kParts});
}

}  // namespace

TEST_CASE("a multipart form as browsers send it") {
  for (const char* rest :
       {"u\"", "U\"", "u\"; filename=\"a; name=b\"",
        "u\"; filename=\"\"\r\nContent-Type: text/plain",
        "u\"\r\ncontent-type: audio/webm;codecs=opus; a=b", "u\"\r\nContent-Type: n"}) {
    CAPTURE(rest);
    CHECK(in_parts(part_with("CONTENT-disposition: form-data; name=\"" + std::string(rest), "ann") +
                   kPasswordPart) == "form ann");
  }
  CHECK(in_parts(
            part_with("Content-Type: text/plain\r\n" + std::string(kDisposition) + "u\"", "ann") +
            kPasswordPart) == "form ann");
  // The content of a file contains text that resembles a part's header.
  CHECK(in_parts(part("f", "\r\nname=\"u\"\r\n\r\nann") + kPasswordPart) == "none");
  CHECK(in_parts(part("f", std::string(2 << 20, 'x')) + part("u", "ann") + kPasswordPart) ==
        "form ann");
  CHECK(in_parts(part("u", std::string("ann\0x", 5)) + kPasswordPart) == "form ann");
  CHECK(in_parts(part("u", "") + kPasswordPart) == "form ");
  CHECK(in_parts("--x--\r\n") == "none");
  CHECK(only({"/alias", "u=ann", kPasswordPart, kParts}) == "form ann");
  CHECK(only({"/alias", "u=bob", part("u", "ann") + kPasswordPart, kParts}) == "400");
  // Fossil gets the form unchanged.
  const std::string form = part("u", "ann") + kPasswordPart;
  CHECK(sent_for({"/alias", "", form, kParts}) == "||" + std::string(kParts) + "|" + form);
}

TEST_CASE("a multipart form that could be read in two ways is refused") {
  for (const char* head :
       {"Content-Disposition: form-data; name=\"x\"; name=\"u\"",
        "Content-Disposition: form-data; name=\"x\"\r\nContent-Disposition: form-data; name=\"u\"",
        "Content-Disposition: form-data; name=\"x\"\r\nname=\"u\"",
        "Content-Disposition: form-data; name=\"x\"\r\nContent-Type: text/plain; name=\"u\"",
        "Content-Disposition: form-data; name=\"x\"\r\nContent-Type: text/plain; n u",
        "Content-Disposition: form-data; name=\"x\"\r\nContent-Type: text/plain;name=;u",
        "Content-Disposition: form-data; name=\"x\"\r\nContent-Type: a\r\nContent-Type: n u",
        "Content-Disposition: form-data; name=\"x\"; filename=\"\\\"; name=\"u\"",
        "Content-Disposition: form-data; filename=\"f\"; name=\"u\"",
        "Content-Disposition: form-data; name=\"x\"\n\nann\r\n--x\nname=\"u\"",
        "Content-Disposition: form-data; name=\"x\"\rname=\"u\"",
        "Content-Disposition: form-data; name=u", "Content-Disposition: form-data; name=\"u",
        "Content-Disposition: form-data;name=\"u\"", "Content-Disposition: n \"u\"", "name= u",
        "X: y\r\nNA \"U\" z", "Content-Type: text/plain"}) {
    CAPTURE(head);
    CHECK(in_parts(part_with(head, "ann") + kPasswordPart) == "400");
  }
  const std::string user = part("u", "ann");
  for (const auto& body : std::vector<std::string>{
           user, part("f", "a\r\n--x\r\nb") + user + kPasswordPart, user + "--x",
           "x" + user + kPasswordPart, user + "--x--\r\n" + kPasswordPart,
           user + "--xy\r\n" + kPasswordPart, "--x\r\n", "--\r\n", "\r\n",
           "--x\n" + std::string(kDisposition) + "u\"\n\nann\n--x--\n",
           part("f", "a\n--x\r\n" + std::string(kDisposition) + "u\"\r\n\r\nann") + kPasswordPart,
           part(std::string("x\0\"; name=\"u", 12), "ann") + kPasswordPart}) {
    CAPTURE(body);
    CHECK(in_parts(body) == "400");
    // Other pages refuse the form too, because fossil accepts a login in the parameters resid and
    // token of any page.
    CHECK(only({"/timeline", "", body, kParts}) == "400");
  }
}

TEST_CASE("forms with passwords only have the type that fossil's own have") {
  for (const char* path : {"/login", "/my", "/json/login", "/setup_login_group"}) {
    CAPTURE(path);
    CHECK(only({path, "", part("u", "ann") + kPasswordPart, kParts}) == "415");
    CHECK(only({path, "", part("u", "ann") + kPasswordPart, "Multipart/form-data"}) == "415");
  }
  CHECK(only({"/login", "", "u=ann&p=x", "text/plain"}) == "415");
  CHECK(only({"/login", "", "u=ann&p=x", ""}) == "415");
  CHECK(only({"/login", "", "", "text/plain"}) == "none");
  CHECK(only({"/login", "", "u=ann&p=x", "Application/X-WWW-form-urlencoded ; charset=x"}) ==
        "form ann");
}

TEST_CASE("fossil gets what was read") {
  const std::string form = "|" + std::string(kForm) + "|";
  CHECK(sent_for({"/login", "", "U=an%6E&&  p=a+%zz&x=%61&y"}) ==
        "|" + form + "u=ann&p=a%20%25zz&x=%61&y");
  CHECK(sent_for({"/login", "u=ann%00x&g=/a", "p=x" + std::string(1, '\0') + "&u=bob"}) ==
        "|u=ann&g=/a" + form + "p=x");
  CHECK(sent_for({.path = "/login",
                  .more = {{"HTTP_COOKIE", "fossil-a=b%2F; U=%61"}, {"HTTP_COOKIE", "c=d"}}}) ==
        "fossil-a=b%2F;u=a;c=d|" + form);
  CHECK(sent_for({"/login", "", "u=ann&p=x", "application/x-www-form-urlencoded;charset=x"}) ==
        "|" + form + "u=ann&p=x");
  CHECK(sent_for({"/json/login", "", R"( {"n\u0061me":"ann\u0000b", "a":[1,true]})",
                  "text/plain"}) == R"(||application/json|{"a":[1,true],"name":"ann"})");
  // Other pages get their parameters unchanged. Only the Cookie headers are joined.
  CHECK(sent_for({.path = "/timeline",
                  .query = "U=%61&n",
                  .body = "U=%61",
                  .more = {{"HTTP_COOKIE", "U=%61"}, {"HTTP_COOKIE", "b"}}}) ==
        "U=%61; b|U=%61&n" + form + "U=%61");
}

TEST_CASE("a user and password in parameters of any page are refused") {
  for (const char* path : {"/timeline", "/login", "/alias", "/json/whoami", "/", "/chat-send"}) {
    CAPTURE(path);
    CHECK(only({path, "resid=ann&token=x"}) == "403");
    CHECK(only({path, "Resid=ann&x", "TOKEN="}) == "403");
    CHECK(only({.path = path, .more = {{"HTTP_COOKIE", "resid=a"}, {"HTTP_COOKIE", "token=b"}}}) ==
          "403");
    CHECK(only({path, "token=x"}) == "none");
    CHECK(only({path, "resid=x"}) == "none");
  }
  CHECK(only({"/chat-send", "", part("resid", "ann") + part("token", "x") + "--x--\r\n", kParts}) ==
        "403");
  CHECK(only({"/ext/script", "", "resid=ann&token=x"}) == "none");
}

TEST_CASE("a password that fossil may find nevertheless") {
  const auto sign = [](const Asked& asked) {
    const auto guesses = guesses_of(asked);
    REQUIRE(guesses.has_value());
    REQUIRE(guesses->size() == 1);
    CHECK(guesses->front().kind == Kind::kHidden);
    return guesses->front().sign;
  };
  CHECK(sign({"/login"}).contains("loginError"));
  CHECK(sign({"/alias", "", "x=y"}).contains("loginError"));
  CHECK(sign({"/json/login"}) == "\"FOSSIL-2104");
  CHECK(sign({"/setup_login_group"}) == "does not correspond to a user");
  // On these pages, only the status of the reply shows whether the login succeeded.
  CHECK(sign({"/alias"}).empty());
  CHECK(sign({"/timeline", "", "x=y"}).empty());
  CHECK(guesses_of({"/ext/script"})->empty());
  CHECK(guesses_of({"/login", "u=anonymous&p=x"})->empty());
}

TEST_CASE("other requests are not logins") {
  CHECK(only({"/login"}) == "none");
  CHECK(only({"/login", "u=ann&p="}) == "none");
  CHECK(only({"/login", "p=x"}) == "none");
  CHECK(only({"/login", "%75=ann&p=x"}) == "none");
  CHECK(only({"/timeline", "u=ann&p=x"}) == "none");
  CHECK(only({"/", "u=ann&p=x"}) == "none");
  CHECK(only({"/login", "u=anonymous&p=12345678&cs=5"}) == "none");
  CHECK(only({"/attachadd", "", std::string(2 << 20, 'x'), "application/octet-stream"}) == "none");
  // Without a list of fossil's pages, no aliases are recognized.
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

TEST_CASE("pages that may take a password are recognized, whatever their name") {
  const auto takes = [](const char* path, const PageNames& pages, std::string query = {}) {
    return may_have_password(request_of({.path = path, .query = std::move(query)}), target_at(path),
                             pages);
  };
  for (const char* path : {"/login", "/json", "/setup_login_group", "/alias", "/draft2/login"}) {
    CAPTURE(path);
    CHECK(takes(path, kPages));
  }
  for (const char* path : {"/", "/timeline", "/attachadd", "/draft2/timeline", "/draft2"}) {
    CAPTURE(path);
    CHECK_FALSE(takes(path, kPages));
    CHECK(takes(path, kPages, "x&resid=ann&Token=x"));
  }
  CHECK_FALSE(takes("/alias", {}));
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
  CHECK(only({"/json/login", "n=ann&p="}) == "json ann");
  CHECK(only(json_body(right, "/draft1/json/login")) == "json ann");
  CHECK(only(json_body(R"({"na\u0000me":"ann","password":"x"})")) == "400");
  CHECK(only(json_body(std::string(100'000, '['))) == "400");
  CHECK(only(json_body(std::string(40, '[') + std::string(40, ']'))) == "400");
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
  CHECK(only(named, kPages, /*trust=*/true) == "none");
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
  // Fossil checks the old password even if the new password is empty.
  change.body = "p=x&n1=y&n2=";
  CHECK(only(change) == "change ann");
  change.body = "p=x&n1=y";
  CHECK(only(change) == "none");
  change.body = "p=x&n1=y&n2=y";
  const Asked of_server{.path = "/login", .body = "p=x&n1&n2", .more = {{"REMOTE_USER", "ann"}}};
  CHECK(only(of_server, kPages, /*trust=*/true) == "change ann");
  CHECK(only(of_server) == "none");
  for (int i = 0; i < 20; ++i)
    change.more[0].value += "; fossil-" + std::to_string(i) + "=a/b/" + std::to_string(i);
  CHECK(only(change) == "400");
  CHECK(only({"/setup_login_group", "", "repo=/x/../o.fossil&login=boss&pw=x"}) == "group boss");
  CHECK(guesses_of({"/setup_login_group", "", "repo=/o.fossil&login=boss&pw=x"})
            ->front()
            .repository == "/o.fossil");
  CHECK(only({"/setup_login_group", "", "repo=a&repo=b&login=boss&pw=x"}) == "400");
  CHECK(only({"/setup_login_group", "", "repo=a&login=boss"}) == "none");
}

TEST_CASE("repeated values beyond the limit are not kept") {
  std::string users = "p=x", cookies;
  for (int i = 0; i < 400; ++i) {
    users += "&u=" + std::to_string(i) + "&&&of-no-interest" + std::to_string(i) + "=1";
    cookies += "fossil-" + std::to_string(i) + "=" + std::to_string(i) + "; ";
  }
  Fields fields;
  CHECK(fields.add_pairs(users, '&').has_value());
  CHECK(fields.add_pairs(cookies, ';').has_value());
  CHECK(fields.values("u").size() == Fields::kMaxValues);
  CHECK(fields.cookies().size() == Fields::kMaxValues);
  CHECK(fields.has("p"));
  CHECK_FALSE(fields.has("of-no-interest1"));
  CHECK_FALSE(fields.add_pairs(users + users, '&').has_value());
  CHECK(only({"/timeline", users + users}) == "400");
  CHECK(only({"/timeline", "", users + users}) == "400");
  std::string parts;
  for (int i = 0; i < 1001; ++i) parts += part("x", "y");
  CHECK(in_parts(parts + "--x--\r\n") == "400");
  // A guess is found after any amount of other data.
  CHECK(only({.path = "/login", .body = std::string(900'000, '&') + "u=ann&p=x"}) == "form ann");
  CHECK(only({.path = "/unknown", .body = std::string(9'000'000, '&') + "u=ann&p=x"}) ==
        "form ann");
}
