#include "quarry/repository/repository_name.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::repository;

namespace {

/// Returns the possible interpretations of PATH in the order in which the server tries them. Each
/// has the form "name>rest", or "name!rest" if an endpoint follows.
std::string meanings(std::string_view path) {
  std::string all;
  for (const NameCandidate& candidate : quarry::repository::names_in(path)) {
    all += candidate.name.str();
    all += candidate.has_endpoint ? "!" : ">";
    all += candidate.rest;
    all += ' ';
  }
  if (!all.empty()) all.pop_back();
  return all;
}

}  // namespace

TEST_CASE("names are letters, digits, dashes and inner dots in a few folders") {
  for (const char* text : {"a", "project", "Big_Project-2", "v1.2", "a/b/c", "x.y/z"}) {
    CAPTURE(text);
    REQUIRE(RepositoryName::parse(text));
    CHECK(RepositoryName::parse(text)->file() == std::string(text) + ".fossil");
  }
}

TEST_CASE(
    "a name cannot climb, be hidden, or be special to a shell, a decoder or an option parser") {
  const std::string nul("a\0b", 3);
  for (const std::string& text :
       {std::string(""),         std::string("."),      std::string(".."),
        std::string("../a"),     std::string("a/../b"), std::string("a/.."),
        std::string(".hidden"),  std::string("a/.b"),   std::string("a."),
        std::string("a..b"),     std::string("-rf"),    std::string("a/-b"),
        std::string("%2e%2e/a"), std::string("a%00"),   nul,
        std::string("a b"),      std::string("a\\b"),   std::string("/a"),
        std::string("a/"),       std::string("a//b"),   std::string("a\nb"),
        std::string("\xc3\xbc"), std::string("\xff"),   std::string(201, 'a')}) {
    CAPTURE(text);
    CHECK_FALSE(RepositoryName::parse(text));
  }
  std::string deep = "a";
  for (int i = 0; i < 16; ++i) deep += "/a";
  CHECK_FALSE(RepositoryName::parse(deep));
}

TEST_CASE("the longest name is tried first") {
  CHECK(meanings("/a/b/c") == "a/b/c> a/b>c a>b/c");
  CHECK(meanings("/a/") == "a>");
  CHECK(meanings("a") == "a>");
}

TEST_CASE(
    "after a repository name xfer, queue, status and ping are endpoints, whatever files exist") {
  CHECK(meanings("/a/xfer") == "a!xfer a/xfer>");
  CHECK(meanings("/a/b/ping") == "a/b!ping a/b/ping> a>b/ping");
  CHECK(meanings("/a/xfer/b") == "a!xfer/b a/xfer/b> a/xfer>b");
  CHECK(meanings("/xfer") == "xfer>");
}

TEST_CASE("a segment after an invalid name is never part of a name") {
  CHECK(meanings("/a/%2e%2e/b") == "a>%2e%2e/b");
  for (const char* path : {"/../a", "/a/../b", "/a/..", "/a/./b", ".", ".."}) {
    CHECK(meanings(path).empty());
  }
  CHECK(meanings("/").empty());
  CHECK(meanings("").empty());
  CHECK(meanings("//a") == "a>");
  CHECK(meanings("/a//b") == "a>b");
}
