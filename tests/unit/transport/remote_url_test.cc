#include "quarry/transport/remote_url.h"

#include <doctest/doctest.h>

#include <string>

using quarry::transport::RemoteUrl;

namespace {

RemoteUrl parsed(const std::string& text) {
  const auto url = RemoteUrl::parse(text);
  INFO(text);
  REQUIRE(url.has_value());
  return *url;
}

std::string remembered(const std::string& text) {
  return parsed(text).without_password();
}

}  // namespace

TEST_CASE("a plus and %20 are spaces in every part of a URL, and %2B is a plus") {
  for (const char* const text : {"http://joe+doe:p+w@host:81/a+b", "http://joe doe:p w@host:81/a b",
                                 "http://joe%20doe:p%20w@host:81/a%20b"}) {
    const RemoteUrl url = parsed(text);
    CHECK(url.user == "joe doe");
    CHECK(url.password == "p w");
    CHECK(url.path == "/a b");
    CHECK(url.without_password() == "http://joe+doe@host:81/a+b");
    CHECK(url.without_user() == "http://host:81/a%20b");
  }
  const RemoteUrl plus = parsed("https://a%2Bb:c%2Bd@host/e%2Bf");
  CHECK(plus.user == "a+b");
  CHECK(plus.password == "c+d");
  CHECK(plus.path == "/e+f");
  CHECK(plus.without_password() == "https://a%2Bb@host/e%2Bf");
  CHECK(plus.without_user() == "https://host/e+f");
}

TEST_CASE("special characters in URLs are stored as in fossil, and parsed again") {
  const RemoteUrl url = parsed("http://%C3%BC%40x%3Ay%2Fz:p%C3%A4%3A%40%2Fw@host/ü%25#~$:");
  CHECK(url.user == "ü@x:y/z");
  CHECK(url.password == "pä:@/w");
  CHECK(url.without_password() == "http://%C3%BC%40x%3Ay%2Fz@host/%C3%BC%25%23~$:");
  CHECK(parsed(url.without_password()).path == url.path);
  CHECK(parsed(url.without_password()).user == url.user);
}

TEST_CASE("a URL with a password and without a scheme is refused, because it is not a path") {
  for (const char* const text : {"joe:pen@host/x", "joe:p/n@host"}) {
    const auto url = RemoteUrl::parse(text);
    REQUIRE(!url);
    CHECK(!url.error().message.contains("joe"));
  }
  CHECK(parsed("joe@host:x").path == "joe@host:x");
  CHECK(parsed("file:joe:pen@host/x").path == "joe:pen@host/x");
}

TEST_CASE("names of files are parsed and formatted") {
  CHECK(parsed("file:///a+dir/my%20repo").path == "/a dir/my repo");
  CHECK(parsed("file:///a dir/w?x#y&z").path == "/a dir/w?x#y&z");
  CHECK(parsed("file:a/b").path == "a/b");
  CHECK(parsed("file://a/b").path == "a/b");
  CHECK(parsed("a+b%20c?fossil=d").path == "a+b%20c?fossil=d");
  CHECK(remembered("file:///a dir/w?x#y&z+%2B") == "file:///a+dir/w%3Fx%23y%26z+%2B");
  CHECK(remembered("/q%41") == "file:///q%2541");
}

TEST_CASE("the program on the remote host is parsed and formatted") {
  CHECK(parsed("file:///a?fossil=/opt/my+fossil").program == "/opt/my fossil");
  CHECK(remembered("file:///a?fossil=/opt/fossil") == "file:///a");
  CHECK(parsed("ssh://joe+doe@host:22//a b?fossil=/x%20y").program == "/x y");
  CHECK(remembered("ssh://joe+doe@host:22//a b?fossil=/x%20y") ==
        "ssh://joe+doe@host:22//a+b?fossil=/x+y");
  CHECK(parsed("ssh://host/~/a+b").path == "~/a b");
  CHECK(parsed("http://host/a?b=c").without_password() == "http://host/a");
}

TEST_CASE("a URL that is stored in a repository never contains ?fossil=") {
  for (const char* const text : {"file:/a?fossil=b", "file:///a?fossil=/bin/sh",
                                 "ssh://host/a?fossil=b", "file:a?fossil=%62"}) {
    INFO(text);
    CHECK(RemoteUrl::parse(text).has_value());
    const auto stored = RemoteUrl::parse_stored(text);
    REQUIRE_FALSE(stored.has_value());
    CHECK(stored.error().message.find("on the command line") != std::string::npos);
  }
  CHECK(RemoteUrl::parse_stored("ssh://ann@host/a")->path == "a");
  CHECK(RemoteUrl::parse_stored("p?fossil=q")->path == "p?fossil=q");
  CHECK_FALSE(RemoteUrl::parse_stored("ftp://host/a").has_value());
}

TEST_CASE("invalid URLs are rejected") {
  for (const char* const text :
       {"", "ftp://host/a", "http://", "http://host:x/a", "http://host/%zz", "http://host/a%2",
        "http://host/%00", "file:///a%", "file:", "ssh://host/", "ssh://-v@host/a", "ssh://+v:w@/a",
        "ssh://-oProxyCommand=id/a", "ssh://%2Dv@host/a", "ssh://%2Dv/a", "ssh://a%24(id)@host/a",
        "ssh://%60id%60@host/a", "ssh://a%0Ab@host/a", "ssh://$(id)/a"}) {
    INFO(text);
    CHECK_FALSE(RemoteUrl::parse(text).has_value());
  }
}
