#include "cards/body.h"

#include <doctest/doctest.h>

#include "quarry/artifact/blob.h"

using namespace quarry::sync;
using quarry::base::ErrorCode;

namespace {
constexpr std::size_t kRoomy = 1 << 20;
}

TEST_CASE("the content type alone identifies a sync request, parameters aside") {
  CHECK(request_format("application/x-fossil") == BodyFormat::kCompressed);
  CHECK(request_format("application/x-fossil; charset=US-ASCII") == BodyFormat::kCompressed);
  CHECK(request_format("Application/X-Fossil-Debug ;x") == BodyFormat::kPlain);
  for (const char* type : {"", "text/html", "application/x-fossil-uncompressed",
                           "application/x-fossilx", "application/x-www-form-urlencoded"}) {
    CAPTURE(type);
    CHECK_FALSE(request_format(type));
    CHECK_FALSE(is_sync_content_type(type));
  }
}

TEST_CASE("a body is a size and a zlib stream, or plain") {
  std::string storage;
  const std::string cards = "pull a b\n";
  CHECK(decode_body(BodyFormat::kPlain, cards, kRoomy, storage).value() == cards);
  CHECK(storage.empty());
  const std::string blob = quarry::artifact::blob_compress(cards);
  CHECK(decode_body(BodyFormat::kCompressed, blob, kRoomy, storage).value() == cards);
}

TEST_CASE("an empty body has no cards") {
  std::string storage;
  CHECK(decode_body(BodyFormat::kPlain, "", kRoomy, storage).value().empty());
  CHECK(decode_body(BodyFormat::kCompressed, "", kRoomy, storage).value().empty());
}

TEST_CASE("a body over the limit is refused by its declared size") {
  std::string storage;
  const std::string cards(1000, 'x');
  const std::string blob = quarry::artifact::blob_compress(cards);
  CHECK(decode_body(BodyFormat::kPlain, cards, 999, storage).error().code == ErrorCode::kLimit);
  CHECK(decode_body(BodyFormat::kCompressed, blob, 999, storage).error().code == ErrorCode::kLimit);
  CHECK(decode_body(BodyFormat::kCompressed, blob, 1000, storage).has_value());
  std::string bomb = blob;
  bomb[0] = bomb[1] = bomb[2] = bomb[3] = '\xff';
  CHECK(decode_body(BodyFormat::kCompressed, bomb, kRoomy, storage).error().code ==
        ErrorCode::kLimit);
}

TEST_CASE("broken compression is an error") {
  std::string storage;
  const std::string blob = quarry::artifact::blob_compress(std::string(1000, 'x'));
  std::string longer = blob;
  longer[3] = static_cast<char>(longer[3] + 1);
  std::string shorter = blob;
  shorter[3] = static_cast<char>(shorter[3] - 1);
  for (const std::string& body : {std::string("abc"), std::string("\0\0\0\5abcdefgh", 12),
                                  blob.substr(0, blob.size() - 3), blob + "x", longer, shorter}) {
    CHECK(decode_body(BodyFormat::kCompressed, body, kRoomy, storage).error().code ==
          ErrorCode::kInvalid);
  }
}

TEST_CASE("uncompressed cards are not taken for a size that exceeds the limit") {
  std::string storage;
  const auto decoded = decode_body(BodyFormat::kCompressed, "push a b\n", kRoomy, storage);
  CHECK(decoded.error().code == ErrorCode::kInvalid);
  CHECK(decoded.error().message == "the request is not compressed");
  CHECK(decoded_size(BodyFormat::kCompressed, "push a b\n") == 0);
}

TEST_CASE("a reply has the encoding that its content type declares") {
  CHECK(encode_body(BodyFormat::kPlain, "private\n") == "private\n");
  CHECK(encode_body(BodyFormat::kPlainClone, "private\n") == "private\n");
  const std::string blob = encode_body(BodyFormat::kCompressed, "private\n");
  CHECK(quarry::artifact::blob_expand(blob, 100).value() == "private\n");
}
