#include "quarry/http/request_head.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::http;

namespace {

/// Returns the status code with which HEAD is refused, or 0 if HEAD is accepted.
int verdict(std::string_view head, std::size_t max_body = 1000) {
  const auto refusal = refuse_head(head, max_body);
  return refusal ? refusal->status : 0;
}

std::string post(std::string_view fields) {
  return "POST /x HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}

}  // namespace

TEST_CASE("requests of common clients are accepted") {
  CHECK(verdict("GET / HTTP/1.1\r\nHost: h\r\n\r\n") == 0);
  CHECK(verdict("HEAD /a?b HTTP/1.0\r\n\r\n") == 0);
  CHECK(verdict("GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n") == 0);
  CHECK(verdict("POST /x HTTP/1.0\nContent-Length: 1000\n\n") == 0);
  CHECK(verdict(post("Content-Length: 0\r\nExpect: 100-Continue\r\n")) == 0);
  CHECK(verdict("GET / HTTP/1.1\r\nHost:h\r\nContent-Length: 0\r\nX-Empty:\r\n\r\n") == 0);
}

TEST_CASE("methods other than GET, HEAD and POST are not allowed") {
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"}) {
    CAPTURE(method);
    CHECK(verdict(std::string(method) + " / HTTP/1.1\r\nHost: h\r\n\r\n") == 405);
  }
}

TEST_CASE("a body must have one length, within the limit") {
  CHECK(verdict(post("")) == 411);
  CHECK(verdict(post("Transfer-Encoding: chunked\r\n")) == 411);
  CHECK(verdict(post("Content-Length: 1001\r\n")) == 413);
  CHECK(verdict(post("Content-Length: 18446744073709551615\r\n")) == 413);
  CHECK(verdict(post("Content-Length: 18446744073709551616\r\n")) == 400);
  for (const char* length : {"", "-1", "+1", "0x10", "1,1", "1 1", "1a"}) {
    CAPTURE(length);
    CHECK(verdict(post("Content-Length: " + std::string(length) + "\r\n")) == 400);
  }
}

TEST_CASE("a chunked body is accepted only from callers that can decode it") {
  const auto status = [](const std::string& head) {
    const auto refusal = refuse_head(head, 1000, /*can_decode=*/true);
    return refusal ? refusal->status : 0;
  };
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  CHECK(status(post(chunked)) == 0);
  CHECK(status(post("transfer-encoding:Chunked\r\n")) == 0);
  CHECK(status(post("Content-Length: 5\r\n" + chunked)) == 400);
  CHECK(status(post("Transfer-Encoding: gzip, chunked\r\n")) == 501);
  CHECK(status(post("Transfer-Encoding: identity\r\n")) == 501);
  CHECK(status(post(chunked + chunked)) == 501);
  CHECK(status("POST / HTTP/1.0\r\n" + chunked + "\r\n") == 400);
  CHECK(status("GET / HTTP/1.1\r\nHost: h\r\n" + chunked + "\r\n") == 400);
}

TEST_CASE("the head of a chunked request is rewritten with a length") {
  const auto head = ChunkedHead::in(
      post("A: b\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nC: d\r\n"));
  REQUIRE(head);
  CHECK(head->expects_continue);
  CHECK(head->with_content_length(12) ==
        "POST /x HTTP/1.1\r\nHost: h\r\nA: b\r\nC: d\r\nContent-Length: 12\r\n\r\n");
  CHECK_FALSE(ChunkedHead::in(post("Content-Length: 5\r\n")));
}

TEST_CASE("bytes that two servers could read as different requests are refused") {
  CHECK(verdict(post("Content-Length: 5\r\nContent-Length: 6\r\n")) == 400);
  CHECK(verdict(post("Content-Length: 5\r\nContent-Length: 5\r\n")) == 400);
  CHECK(verdict(post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")) == 400);
  CHECK(verdict(post("Content-Length : 5\r\n")) == 400);
  CHECK(verdict(post("X: a\r\n Content-Length: 5\r\n")) == 400);
  CHECK(verdict("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n") == 400);
  CHECK(verdict("HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n") == 400);
  CHECK(verdict(post("X: a\rContent-Length: 5\r\n")) == 400);
  CHECK(verdict(post(std::string_view("X: a\0b\r\n", 8))) == 400);
  CHECK(verdict("GET / HTTP/1.1\r\n\r\n") == 400);
  CHECK(verdict("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n") == 400);
}

TEST_CASE("a host is a name or an address, with a port or without") {
  for (const char* host :
       {"", "h", "code.example:8080", "192.0.2.1", "[2001:db8::1]:80", "a_b-c.~d"}) {
    CAPTURE(host);
    CHECK(verdict("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n") == 0);
  }
  for (const char* host : {"a b", "a\"b", "a'b", "a<b", "a/b", "a%20b", "u@h", "a,b", "a\\b", "a?b",
                           "a#b", "h\xc3\xa4"}) {
    CAPTURE(host);
    CHECK(verdict("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n") == 400);
  }
}

TEST_CASE("a malformed request line is refused") {
  for (const char* line :
       {"", "GET", "GET /", "GET  HTTP/1.1", "GET / / HTTP/1.1", "GET /\t HTTP/1.1",
        "G@T / HTTP/1.1", "GET / HTTP", " / HTTP/1.1", "\x16\x03\x01"}) {
    CAPTURE(line);
    CHECK(verdict(std::string(line) + "\r\nHost: h\r\n\r\n") == 400);
  }
}

TEST_CASE("other versions of HTTP, and expectations other than 100-continue, are refused") {
  for (const char* version : {"HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "HTTP/11.1"}) {
    CAPTURE(version);
    CHECK(verdict("GET / " + std::string(version) + "\r\nHost: h\r\n\r\n") == 505);
  }
  CHECK(verdict(post("Content-Length: 1\r\nExpect: tea\r\n")) == 417);
}

TEST_CASE("more than a hundred headers are refused") {
  std::string fields;
  for (int i = 0; i < 99; ++i) fields += "X-" + std::to_string(i) + ": 1\r\n";
  const std::string start = "GET / HTTP/1.1\r\nHost: h\r\n";
  CHECK(verdict(start + fields + "\r\n") == 0);
  CHECK(verdict(start + fields + "More: 1\r\n\r\n") == 431);
}

TEST_CASE("a refusal is one line of plain text and ends the connection") {
  CHECK(refusal_page({.status = 405, .text = "no"}, {}) ==
        "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: 27\r\nAllow: GET, HEAD, POST\r\nConnection: close\r\n\r\n"
        "405 Method Not Allowed: no\n");
  CHECK(refusal_page({.status = 404, .text = "no"}, {.head_only = true})
            .ends_with("Connection: close\r\n\r\n"));
}

TEST_CASE("a refusal has the id of its request") {
  const std::string start = "GET / HTTP/1.1\r\n";
  CHECK(Asker::of(start + "x-request-id:  a-1 \r\nX-Request-ID: b\r\n\r\n").request_id == "a-1");
  CHECK(Asker::of(start + "X-Request-ID: " + std::string(1000, 'x')).request_id.size() == 65);
  CHECK(Asker::of(start + "Host: h\r\n\r\n").request_id.empty());
  CHECK(refusal_page({.status = 400, .text = "no"}, {.request_id = "a-1"})
            .contains("\r\nX-Request-ID: a-1\r\nConnection: close\r\n\r\n"));
}

TEST_CASE("a browser gets refusals as a page, except in a sync") {
  const std::string start = "POST /x HTTP/1.1\r\nHost: h\r\naccept:  text/html,*/*;q=0.8\r\n";
  CHECK(Asker::of(start + "\r\n").wants_page);
  CHECK(Asker::of(start + "Content-Type: multipart/form-data\r\n\r\n").wants_page);
  CHECK_FALSE(Asker::of(start + "Content-Type: application/x-fossil\r\n\r\n").wants_page);
  CHECK_FALSE(Asker::of("GET /text/html HTTP/1.1\r\nHost: h\r\n\r\n").wants_page);
  CHECK_FALSE(Asker::of("\r\n").wants_page);
  CHECK_FALSE(Asker::of("").wants_page);
  CHECK_FALSE(Asker::of("GET / HTTP/1.1\r\nAccept").wants_page);
  const std::string page =
      refusal_page({.status = 413, .text = "more than <1>"}, {.wants_page = true});
  CHECK(page.starts_with("HTTP/1.1 413 Content Too Large\r\nContent-Type: text/html"));
  CHECK(page.contains("Content-Security-Policy: default-src 'none'"));
  CHECK(page.contains(">More than &lt;1&gt;.</p>"));
}
