#include "fossil/scgi.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace quarry::pages;

namespace {

PageRequest request_with(std::initializer_list<Parameter> parameters, std::string_view body = "") {
  PageRequest request{.parameters = parameters,
                      .body = quarry::base::EventBufferPtr(evbuffer_new())};
  evbuffer_add(request.body.get(), body.data(), body.size());
  return request;
}

/// Returns the head of REQUEST, with '|' instead of NUL bytes.
std::string head_of(const PageRequest& request, bool trust_remote_user = false) {
  std::string head = scgi_head(request, trust_remote_user);
  std::ranges::replace(head, '\0', '|');
  return head;
}

}  // namespace

TEST_CASE("a request is a netstring that starts with its length") {
  const auto request = request_with({{"REQUEST_METHOD", "POST"}, {"PATH_INFO", "/a"}}, "12345");
  CHECK(head_of(request) ==
        "70:CONTENT_LENGTH|5|SCGI|1|SCRIPT_NAME||PATH_INFO|/a|REQUEST_METHOD|POST|,");
}

TEST_CASE("a path that the web server has not split is passed as PATH_INFO") {
  CHECK(head_of(request_with({{"SCRIPT_NAME", "/a/b"}})).contains("|SCRIPT_NAME||PATH_INFO|/a/b|"));
  CHECK(head_of(request_with({{"SCRIPT_NAME", "/code"}, {"PATH_INFO", "/a"}}))
            .contains("|SCRIPT_NAME|/code|PATH_INFO|/a|"));
}

TEST_CASE("a path is encoded as in the URL, because fossil decodes it") {
  const auto path_of = [](const char* url, const char* path) {
    const std::string head = head_of(request_with({{"REQUEST_URI", url}, {"PATH_INFO", path}}));
    const std::string rest = head.substr(head.find("|PATH_INFO|") + 11);
    return rest.substr(0, rest.find('|'));
  };
  CHECK(path_of("/doc/c%2B%2B%20x%41?a+b", "/doc/c++ xA") == "/doc/c%2B%2B xA");
  CHECK(path_of("/doc/c++", "/doc/c++") == "/doc/c++");
  CHECK(path_of("/code/p%2541%25", "/p%41%") == "/p%2541%25");
  // The web server has changed the path, or does not pass on the URL.
  CHECK(path_of("/elsewhere%2B", "/doc/c+%") == "/doc/c+%25");
  CHECK(path_of("", "/doc/c+%") == "/doc/c+%25");
  CHECK(path_of("/%2", "/%2") == "/%252");
}

TEST_CASE("headers are passed on, but nothing that could be mistaken for something else") {
  const auto request = request_with({{"PATH_INFO", "/"},
                                     {"HTTP_COOKIE", "c"},
                                     {"HTTP_PROXY", "http://x"},
                                     {"HTTP_odd", "x"},
                                     {"HTTP_A-B", "x"},
                                     {"SCGI", "2"},
                                     {"CONTENT_LENGTH", "9"},
                                     {"FOSSIL_USER", "root"},
                                     {"REMOTE_USER", "ann"},
                                     {"AUTH_TYPE", "Basic"}});
  const std::string head = head_of(request);
  CHECK(head.contains("|HTTP_COOKIE|c|"));
  CHECK(head_of(request, true).contains("|REMOTE_USER|ann|"));
  for (const char* name : {"HTTP_PROXY", "HTTP_odd", "HTTP_A-B", "|SCGI|2|", "LENGTH|9",
                           "FOSSIL_USER", "REMOTE_USER", "AUTH_TYPE"}) {
    CAPTURE(name);
    CHECK_FALSE(head.contains(name));
  }
}

TEST_CASE("a parameter is passed on once, with the value that was checked") {
  const auto request = request_with({{"PATH_INFO", "/a"},
                                     {"CONTENT_TYPE", "application/x-fossil"},
                                     {"QUERY_STRING", "a"},
                                     {"CONTENT_TYPE", "text/plain"},
                                     {"PATH_INFO", "/b"}});
  CHECK(head_of(request).ends_with("|PATH_INFO|/b|CONTENT_TYPE|text/plain|QUERY_STRING|a|,"));
}

TEST_CASE("a NUL byte cannot add parameters") {
  const auto refusal = refuse_request(request_with(
      {{"REQUEST_METHOD", "GET"}, {"QUERY_STRING", std::string("a\0REMOTE_USER\0ann", 17)}}));
  REQUIRE(refusal.has_value());
  CHECK(refusal->status == 400);
}
