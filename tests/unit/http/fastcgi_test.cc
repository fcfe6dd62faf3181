#include "quarry/http/fastcgi.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::http;
using namespace std::string_literals;

TEST_CASE("a record's header is eight bytes") {
  const auto bytes = encode({.type = RecordType::kStdout,
                             .request_id = 0x1234,
                             .content_length = 0xfff8,
                             .padding_length = 7});
  CHECK(std::string(bytes.data(), bytes.size()) == "\1\6\x12\x34\xff\xf8\7\0"s);
  const auto header = decode(std::string(bytes.data(), bytes.size()) + "more");
  REQUIRE(header);
  CHECK(header->type == RecordType::kStdout);
  CHECK(header->request_id == 0x1234);
  CHECK(header->content_length == 0xfff8);
  CHECK(header->padding_length == 7);
}

TEST_CASE("less than a header, and another version, are none") {
  CHECK_FALSE(decode(""));
  CHECK_FALSE(decode("\1\6\0\1\0\0\0"s));
  CHECK_FALSE(decode("\2\6\0\1\0\0\0\0"s));
}

TEST_CASE("pairs have short and long lengths, and come back as they were") {
  for (const std::size_t size : {0UL, 1UL, 127UL, 128UL, 255UL, 256UL, 65536UL, 16777216UL}) {
    CAPTURE(size);
    const std::string text(size, 'x');
    std::string pairs;
    append_pair(pairs, "NAME", text);
    append_pair(pairs, "N" + text, "");
    std::string_view rest = pairs;
    const auto first = take_pair(rest);
    REQUIRE(first);
    CHECK(first->name == "NAME");
    CHECK((first->value == text));
    const auto second = take_pair(rest);
    REQUIRE(second);
    CHECK((second->name == "N" + text));
    CHECK(second->value.empty());
    CHECK(rest.empty());
    CHECK_FALSE(take_pair(rest));
  }
}

TEST_CASE("pairs whose lengths lie are none") {
  for (const std::string& bytes : {"\1"s, "\1\1"s, "\1\1a"s, "\0\1a"s, "\x80\0\0"s, "\x80\0\0\1"s,
                                   "\xff\xff\xff\xff\xff\xff\xff\xff"s}) {
    CAPTURE(bytes);
    std::string_view rest = bytes;
    CHECK_FALSE(take_pair(rest));
  }
}
