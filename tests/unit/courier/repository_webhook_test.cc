// Tests the webhooks of repositories, whose rows are not trusted, and the addresses that they use.
#include "quarry/courier/repository_webhook.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "quarry/courier/address_rules.h"

using namespace quarry;
using namespace quarry::courier;

namespace {

base::SocketAddress ip(const std::string& text) {
  const auto address = base::SocketAddress::parse_ip(text);
  REQUIRE(address);
  return *address;
}

}  // namespace

TEST_CASE("a webhook survives writing and reading") {
  const RepositoryWebhook webhook{.name = "chat",
                                  .url = "https://example.org/a?b",
                                  .events = {"artifact.wiki", "push"},
                                  .format = "slack",
                                  .secret = "a \"key\""};
  const auto read = parse_repository_webhook("chat", row_of(webhook));
  REQUIRE(read);
  CHECK(row_of(*read) == row_of(webhook));
  CHECK(options_of(*read).format == Format::kSlack);
  CHECK(options_of(*read).batch == Batch::kPush);
  CHECK_FALSE(options_of(*read).allow_redirects);
  const auto least = parse_repository_webhook("x", R"({"url": "http://example.org"})");
  REQUIRE(least);
  CHECK(options_of(*least).format == Format::kJson);
}

TEST_CASE("invalid rows are refused, and the reason does not contain the secret") {
  const std::string long_text(20'000, 'x');
  for (const std::string& row : std::vector<std::string>{
           "",
           "x",
           "[]",
           "1",
           "{}",
           R"({"url": 1})",
           R"({"url": "ftp://example.org"})",
           R"({"url": "file:///etc/passwd"})",
           R"({"url": "http://a b"})",
           R"({"url": "http://a\nb"})",
           R"({"url": "http://a", "events": "push"})",
           R"({"url": "http://a", "events": [1]})",
           R"({"url": "http://a", "events": ["security"]})",
           R"({"url": "http://a", "events": ["nothing"]})",
           R"({"url": "http://a", "events": ["hook"]})",
           R"({"url": "http://a", "format": "other", "secret": "hidden"})",
           R"({"url": "http://a", "secret": ["hidden"]})",
           R"({"url": "http://)" + long_text.substr(0, 3000) + "\"}",
           R"({"url": "http://a", "secret": ")" + long_text.substr(0, 2000) + "\"}",
           R"({"url": "http://a", "more": ")" + long_text + "\"}",
           std::string(10'000, '[')}) {
    const auto read = parse_repository_webhook("chat", row);
    CAPTURE(row);
    REQUIRE_FALSE(read);
    CHECK(read.error().message.find("hidden") == std::string::npos);
  }
  CHECK_FALSE(parse_repository_webhook("a/b", R"({"url": "http://a"})"));
  CHECK_FALSE(parse_repository_webhook("", R"({"url": "http://a"})"));
}

TEST_CASE("only addresses of the public internet are public") {
  for (const char* address : {"0.0.0.0",
                              "10.1.2.3",
                              "100.64.0.1",
                              "127.0.0.1",
                              "127.1.2.3",
                              "169.254.169.254",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.1",
                              "192.168.1.1",
                              "198.18.0.1",
                              "224.0.0.1",
                              "255.255.255.255",
                              "240.0.0.1",
                              "192.88.99.1",
                              "::",
                              "::1",
                              "::ffff:127.0.0.1",
                              "::ffff:169.254.169.254",
                              "::ffff:10.0.0.1",
                              "::127.0.0.1",
                              "64:ff9b::7f00:1",
                              "64:ff9b::808:808",
                              "64:ff9b:1::1",
                              "2002:7f00:1::",
                              "2001::1",
                              "2001:db8::1",
                              "fc00::1",
                              "fd12::1",
                              "fe80::1",
                              "fec0::1",
                              "ff02::1",
                              "3fff::1",
                              "5f00::1",
                              "100::1"}) {
    CAPTURE(address);
    CHECK_FALSE(is_public(ip(address)));
  }
  for (const char* address :
       {"1.1.1.1", "8.8.8.8", "172.32.0.1", "172.15.255.255", "192.0.1.1", "100.128.0.1",
        "223.255.255.255", "::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450::1"}) {
    CAPTURE(address);
    CHECK(is_public(ip(address)));
  }
}

TEST_CASE("listed addresses, networks and names are allowed") {
  const auto rules = AddressRules::parse(
      std::vector<std::string>{"10.1.0.0/16", "::1", "ci.example.org", "127.0.0.2"});
  REQUIRE(rules);
  CHECK(rules->allows("x", ip("10.1.2.3")));
  CHECK(rules->allows("x", ip("::ffff:10.1.2.3")));
  CHECK(rules->allows("x", ip("::1")));
  CHECK(rules->allows("CI.example.org", ip("192.168.0.1")));
  CHECK_FALSE(rules->allows("evil.ci.example.org", ip("192.168.0.1")));
  CHECK_FALSE(rules->allows("x", ip("10.2.0.1")));
  CHECK_FALSE(rules->allows("x", ip("127.0.0.1")));
  CHECK(rules->allows("x", ip("8.8.8.8")));
  for (const char* entry : {"", "10.0.0.0/33", "a b", "1.2.3", "http://x", "x/24"}) {
    CAPTURE(entry);
    CHECK_FALSE(AddressRules::parse(std::vector<std::string>{entry}));
  }
}
