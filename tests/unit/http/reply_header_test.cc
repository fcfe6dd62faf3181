#include "quarry/http/reply_header.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::http;

using Fields = std::vector<std::pair<std::string, std::string>>;

TEST_CASE("a header block ends with an empty line, with any kind of line end") {
  CHECK(header_block_size("A: b\r\n\r\nbody\n\n") == 8);
  CHECK(header_block_size("A: b\n\nbody") == 6);
  CHECK(header_block_size("A: b\n\r\nbody") == 7);
  CHECK(header_block_size("A: b\r\nC: d\r\n") == std::string_view::npos);
  CHECK(header_block_size("A: b\r\n\r") == std::string_view::npos);
  CHECK(header_block_size("") == std::string_view::npos);
}

TEST_CASE("status, length and fields are taken apart") {
  const auto header = parse_reply_header(
      "Status: 404 No such repository\r\ncontent-length: 12\r\nContent-Type: text/plain\r\n"
      "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n");
  REQUIRE(header);
  CHECK(header->status == 404);
  CHECK(header->reason == "No such repository");
  CHECK(header->content_length == 12);
  CHECK(header->fields ==
        Fields{{"Content-Type", "text/plain"}, {"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}});
}

TEST_CASE("the default status is 200, or 302 with a location") {
  const auto plain = parse_reply_header("Content-Type: text/plain\n\n");
  REQUIRE(plain);
  CHECK(plain->status == 200);
  CHECK(plain->reason == "OK");
  CHECK_FALSE(plain->content_length);
  const auto moved = parse_reply_header("Location: http://x/\n\n");
  REQUIRE(moved);
  CHECK(moved->status == 302);
  const auto kept = parse_reply_header("Location: http://x/\nStatus: 201\n\n");
  REQUIRE(kept);
  CHECK(kept->status == 201);
  CHECK(kept->reason == "Created");
}

TEST_CASE("fields that belong to one connection are not passed on") {
  const auto header = parse_reply_header(
      "Connection: keep-alive\nTransfer-Encoding: chunked\nUpgrade: x\nX-Kept: 1\n\n");
  REQUIRE(header);
  CHECK(header->fields == Fields{{"X-Kept", "1"}});
}

TEST_CASE("a malformed header block is refused") {
  for (const char* block :
       {"\n", "no colon\n\n", ": no name\n\n", "Bad name: x\n\n", "Status: 20\n\n",
        "Status: 2000\n\n", "Status: abc\n\n", "Status: 101 Switching\n\n", "Status: 600\n\n",
        "Content-Length: -1\n\n", "Content-Length: 1\nContent-Length: 1\n\n",
        "Content-Length: 99999999999999999999\n\n", "Content-Length:\n\n", "X: a\x01\n\n",
        "X: a\rb\n\n", " X: folded\n\n"}) {
    CAPTURE(block);
    CHECK_FALSE(parse_reply_header(block));
  }
}
