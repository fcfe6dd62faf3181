#include "cache/cache_rule.h"

#include <doctest/doctest.h>

using namespace quarry::pages;

namespace {

constexpr char kFirefox[] =
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

PageRequest request_with(std::vector<Parameter> more = {}) {
  PageRequest request{.parameters = {{"REQUEST_METHOD", "GET"},
                                     {"PATH_INFO", "/timeline"},
                                     {"QUERY_STRING", "n=10"},
                                     {"HTTP_HOST", "here"},
                                     {"HTTP_USER_AGENT", kFirefox}},
                      .body = quarry::base::EventBufferPtr(evbuffer_new())};
  for (Parameter& each : more) request.parameters.push_back(std::move(each));
  return request;
}

std::optional<std::string> key_of(std::vector<Parameter> more = {}, const char* page = "timeline",
                                  bool trust_remote_user = false) {
  return cache_key(request_with(std::move(more)), {.file = "/x.fossil", .page = page},
                   trust_remote_user);
}

}  // namespace

TEST_CASE("pages that are the same for all anonymous visitors can be cached") {
  REQUIRE(key_of());
  CHECK(key_of({{"REQUEST_METHOD", "HEAD"}}) == key_of());
  CHECK(key_of({{"HTTP_ACCEPT_ENCODING", "gzip"}}) == key_of());
  CHECK(key_of({{"REMOTE_ADDR", "192.0.2.1"}}) == key_of());
  CHECK(key_of({{"REMOTE_USER", "ann"}}) == key_of());
  for (const auto& each :
       {Parameter{"REQUEST_METHOD", "POST"}, Parameter{"HTTP_COOKIE", "a=b"},
        Parameter{"HTTP_AUTHORIZATION", "Basic x"}, Parameter{"HTTP_USER_AGENT", "Lynx/2"},
        Parameter{"QUERY_STRING", std::string(3000, 'x')}}) {
    CAPTURE(each.name);
    CHECK_FALSE(key_of({each}));
  }
  CHECK_FALSE(key_of({{"REMOTE_USER", "ann"}}, "timeline", true));
  for (const char* page : {"login", "captcha-audio", "wikiedit", "forumnew", "setup", "cookies",
                           "test_env", "register", "tktnew", "search", "honeypot"}) {
    CAPTURE(page);
    CHECK_FALSE(key_of({}, page));
  }
}

TEST_CASE("everything that a page depends on changes its key") {
  for (const auto& each : {Parameter{"HTTP_HOST", "there"}, Parameter{"HTTPS", "on"},
                           Parameter{"SCRIPT_NAME", "/code"}, Parameter{"PATH_INFO", "/timeline/"},
                           Parameter{"QUERY_STRING", "n=11"}, Parameter{"HTTP_USER_AGENT", "wget"},
                           Parameter{"REQUEST_URI", "/timeline?n=10"}}) {
    CAPTURE(each.name);
    REQUIRE(key_of({each}));
    CHECK(key_of({each}) != key_of());
  }
}

TEST_CASE("a shared request contains nothing about the client that asked first") {
  const PageRequest asked = anonymous(request_with(
      {{"REQUEST_METHOD", "HEAD"},
       {"HTTP_IF_NONE_MATCH", "tag"},
       {"HTTP_ACCEPT_ENCODING", "gzip"},
       {"HTTP_REFERER", "http://elsewhere/"},
       {"REMOTE_USER", "ann"},
       {"REMOTE_ADDR", "198.51.100.7"},
       {"HTTP_USER_AGENT", "Mozilla/5.0 (Macintosh) AppleWebKit/1 (KHTML, x) Safari/1"}}));
  CHECK(asked.get("REQUEST_METHOD") == "GET");
  CHECK(asked.get("PATH_INFO") == "/timeline");
  CHECK(asked.get("HTTP_HOST") == "here");
  CHECK(asked.get("HTTP_USER_AGENT") == kFirefox);
  CHECK(asked.get("REMOTE_ADDR") == kSharedAddress);
  for (const char* name :
       {"HTTP_IF_NONE_MATCH", "HTTP_ACCEPT_ENCODING", "HTTP_REFERER", "REMOTE_USER"}) {
    CHECK(asked.get(name).empty());
  }
}

TEST_CASE("robots, phones and browsers are distinguished") {
  CHECK(agent_of(kFirefox) == Agent::kBrowser);
  CHECK(agent_of("Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/130.0 Mobile") ==
        Agent::kPhone);
  CHECK(agent_of("Mozilla/5.0 (compatible; Somebot/2.1; +http://x/bot.html)") == Agent::kRobot);
  CHECK(agent_of("Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 (compatible; crawler)") ==
        Agent::kRobot);
  CHECK(agent_of("") == Agent::kRobot);
  CHECK(agent_of("curl/8.0") == Agent::kRobot);
  // Fossil treats only tablets with "Mobi" in the user agent as phones.
  CHECK(agent_of("Mozilla/5.0 (Android 14; Tablet; rv:128.0) Gecko/128.0 Firefox/128.0") ==
        Agent::kBrowser);
  CHECK_FALSE(
      agent_of("Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 (KHTML, like Gecko) "
               "Chrome/130.0 Mobile Safari/537.36 (compatible; GoogleOther)"));
  CHECK_FALSE(agent_of("Mozilla/4.0 (compatible; MSIE 6.0)"));
  CHECK_FALSE(agent_of("Mozilla/5.0 (x) Safari/537.36Mozilla/5.0 Firefox/1"));
  for (const Agent agent : {Agent::kRobot, Agent::kPhone, Agent::kBrowser}) {
    CHECK(agent_of(canonical(agent)) == agent);
  }
}
