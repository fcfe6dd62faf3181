#include "quarry/http/chunked_body.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::http;
using Status = ChunkedBody::Status;

namespace {

struct DecodedChunks {
  Status status;
  std::string body;
  std::string rest;
};

/// Decodes TEXT in pieces of PIECE bytes.
DecodedChunks decode_chunks(const std::string& text, std::size_t piece = std::string::npos,
                            std::size_t max_body = 100) {
  ChunkedBody decoder(max_body);
  DecodedChunks decoded{Status::kMore, {}, {}};
  for (std::size_t at = 0; at < text.size() && decoded.status == Status::kMore;) {
    std::string_view bytes = std::string_view(text).substr(at, piece);
    const std::size_t size = bytes.size();
    decoded.status = decoder.feed(bytes, decoded.body);
    at += size - bytes.size();
    if (decoded.status == Status::kEnd) decoded.rest = text.substr(at);
  }
  return decoded;
}

}  // namespace

TEST_CASE("a chunked body is decoded from pieces of any size") {
  const std::string text =
      "5\r\nhello\r\n00A;name=value ;other\r\n, chunked!\r\n0\r\nTrailer: x\r\n\r\nGET /";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, text.size()}) {
    CAPTURE(piece);
    const DecodedChunks decoded = decode_chunks(text, piece);
    CHECK(decoded.status == Status::kEnd);
    CHECK(decoded.body == "hello, chunked!");
    CHECK(decoded.rest == "GET /");
  }
  CHECK(decode_chunks("0\r\n\r\n").body.empty());
  CHECK(decode_chunks("0\r\n\r\n").status == Status::kEnd);
  CHECK(decode_chunks("5\r\nhello\r\n0\r\n").status == Status::kMore);
}

TEST_CASE("a chunked body has the limit of other bodies") {
  CHECK(decode_chunks("64\r\n" + std::string(100, 'x') + "\r\n0\r\n\r\n").status == Status::kEnd);
  CHECK(decode_chunks("65\r\n").status == Status::kTooLarge);
  CHECK(decode_chunks("63\r\n" + std::string(99, 'x') + "\r\n2\r\n").status == Status::kTooLarge);
  CHECK(decode_chunks("fffffffffffffff\r\n").status == Status::kTooLarge);
}

TEST_CASE("a chunked body that two servers could read differently is malformed") {
  for (const std::string& text :
       {std::string("\r\n"), std::string("x\r\n"), std::string("+5\r\n"), std::string("-1\r\n"),
        std::string("0x5\r\n"), std::string(" 5\r\n"), std::string("5 \r\n"), std::string("5\n"),
        std::string("5 5\r\n"), std::string("1000000000000000\r\n"), std::string("5;a\rb\r\n"),
        std::string("5\r\nhello0\r\n"), std::string("5\r\nhello\n0\r\n"),
        std::string("0\r\nno field\r\n"), std::string("0\r\nName : x\r\n"),
        "5;" + std::string(2000, 'x'), "0\r\nA: " + std::string(2000, 'x')}) {
    CAPTURE(text);
    CHECK(decode_chunks(text).status == Status::kMalformed);
    CHECK(decode_chunks(text, 1).status == Status::kMalformed);
  }
  std::string trailers = "0\r\n";
  for (int i = 0; i < 20; ++i) trailers += "Name: " + std::string(900, 'x') + "\r\n";
  CHECK(decode_chunks(trailers).status == Status::kMalformed);
}
