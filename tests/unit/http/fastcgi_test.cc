#include "quarry/http/fastcgi.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::http;
using namespace std::string_literals;

TEST_CASE("a record's header is eight bytes") {
  const auto bytes = encode(
      {.type = FCGI_STDOUT, .request_id = 0x1234, .content_length = 0xfff8, .padding_length = 7});
  CHECK(std::string(bytes.data(), bytes.size()) == "\1\6\x12\x34\xff\xf8\7\0"s);
  const auto header = decode(std::string(bytes.data(), bytes.size()) + "more");
  REQUIRE(header);
  CHECK(header->type == FCGI_STDOUT);
  CHECK(header->request_id == 0x1234);
  CHECK(header->content_length == 0xfff8);
  CHECK(header->padding_length == 7);
}

TEST_CASE("an incomplete header, or one of another version, is not decoded") {
  CHECK_FALSE(decode(""));
  CHECK_FALSE(decode("\1\6\0\1\0\0\0"s));
  CHECK_FALSE(decode("\2\6\0\1\0\0\0\0"s));
}

TEST_CASE("records are parsed from pieces of any size") {
  std::string bytes;
  append_record(bytes, FCGI_STDOUT, 1, "hello", 3);
  append_record(bytes, FCGI_STDERR, 2, "", 255);
  append_record(bytes, FCGI_STDIN, 3, "world");
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    CAPTURE(step);
    RecordReader reader;
    std::string seen;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      std::string_view piece = std::string_view(bytes).substr(at, step);
      while (const auto part = reader.next(piece)) {
        if (part->is_first) seen += std::to_string(part->header.request_id) + ":";
        seen += part->content;
        if (part->is_last) seen += "\n";
      }
      CHECK(piece.empty());
    }
    CHECK(seen == "1:hello\n2:\n3:world\n");
    CHECK_FALSE(reader.is_malformed());
  }
}

TEST_CASE("a record of another version is malformed from its first byte on") {
  RecordReader reader;
  std::string_view bytes = "\2";
  CHECK_FALSE(reader.next(bytes));
  CHECK(reader.is_malformed());
  CHECK(reader.version() == 2);
}

TEST_CASE("a stream is cut into records that need no padding") {
  const std::string content(100'000, 'x');
  std::string expected;
  append_record(expected, FCGI_PARAMS, 1, content.substr(0, 65528));
  append_record(expected, FCGI_PARAMS, 1, content.substr(65528));
  std::string bytes;
  append_stream(bytes, FCGI_PARAMS, 1, content);
  CHECK((bytes == expected));
}

TEST_CASE("a request to a responder starts with its own record") {
  CHECK(begin_content(FCGI_KEEP_CONN) == "\0\1\1\0\0\0\0\0"s);
  CHECK(end_content(FCGI_OVERLOADED) == "\0\0\0\0\2\0\0\0"s);
  CHECK(begins_request({.type = FCGI_BEGIN_REQUEST, .request_id = 7}, begin_content()));
  CHECK_FALSE(begins_request({.type = FCGI_BEGIN_REQUEST, .request_id = 0}, begin_content()));
  CHECK_FALSE(begins_request({.type = FCGI_PARAMS, .request_id = 7}, begin_content()));
  CHECK_FALSE(begins_request({.type = FCGI_BEGIN_REQUEST, .request_id = 7}, "short"));
  CHECK_FALSE(begins_request({.type = FCGI_BEGIN_REQUEST, .request_id = 7}, "\0\2\0\0\0\0\0\0"s));
}

TEST_CASE("lengths of names and values take one byte up to 127, and four above") {
  std::string pairs;
  append_pair(pairs, "A", "bc");
  append_pair(pairs, "N", std::string(127, 'x'));
  append_pair(pairs, "L", std::string(128, 'y'));
  CHECK(pairs ==
        "\1\2Abc\1\x7fN" + std::string(127, 'x') + "\1\x80\0\0\x80L"s + std::string(128, 'y'));
  for (const std::size_t size : {0UL, 1UL, 127UL, 128UL, 255UL, 256UL, 65536UL, 16777216UL}) {
    CAPTURE(size);
    const std::string text(size, 'x');
    pairs.clear();
    append_pair(pairs, "NAME", text);
    append_pair(pairs, "N" + text, "");
    std::string_view rest = pairs;
    const auto first = take_pair(rest);
    const auto second = take_pair(rest);
    REQUIRE((first && second));
    CHECK((first->name == "NAME" && first->value == text));
    CHECK((second->name == "N" + text && second->value.empty()));
    CHECK(rest.empty());
    CHECK_FALSE(take_pair(rest));
  }
}

TEST_CASE("pairs with wrong lengths or a NUL are not decoded") {
  for (const std::string& bytes :
       {"\1"s, "\1\1"s, "\1\1a"s, "\0\1a"s, "\x80\0\0"s, "\x80\0\0\1"s,
        "\xff\xff\xff\xff\xff\xff\xff\xff"s, "\1\3Ax\0y"s, "\2\1A\0x"s}) {
    CAPTURE(bytes);
    std::string_view rest = bytes;
    CHECK_FALSE(take_pair(rest));
  }
}
