#include "quarry/artifact/blob_reader.h"

#include <doctest/doctest.h>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/digest.h"
#include "quarry/artifact/running_digest.h"
#include "support.h"

namespace quarry::artifact {
namespace {

constexpr std::size_t kMost = 1'000'000;

Result<std::string> read_all(std::string_view blob, std::size_t max_size = kMost) {
  QUARRY_TRY_ASSIGN(BlobReader reader, BlobReader::open(blob, max_size));
  std::string content;
  while (true) {
    QUARRY_TRY_ASSIGN(const std::string_view piece, reader.next());
    CHECK(piece.size() <= BlobReader::kPiece);
    if (piece.empty()) return content;
    content += piece;
  }
}

}  // namespace

TEST_CASE("reading in pieces gives the same as expanding at once") {
  test::Random random;
  INFO("seed ", random.seed());
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, BlobReader::kPiece - 1, BlobReader::kPiece,
        BlobReader::kPiece + 1, 3 * BlobReader::kPiece, std::size_t{500'000}}) {
    CAPTURE(size);
    for (const std::string& content :
         {random.bytes(size), random.text(size), std::string(size, '\0')}) {
      CHECK((read_all(blob_compress(content)) == content));
    }
  }
}

TEST_CASE("a blob that does not expand cannot be read to its end") {
  const std::string content = std::string(100'000, 'a').append("and more");
  const std::string blob = blob_compress(content);
  for (std::size_t size = 0; size < blob.size(); ++size) {
    CHECK_FALSE(read_all(blob.substr(0, size)));
  }
  for (std::size_t at = 4; at < blob.size(); ++at) {
    std::string damaged = blob;
    damaged[at] = static_cast<char>(~damaged[at]);
    CHECK_FALSE(read_all(damaged));
  }
  CHECK_FALSE(read_all(blob + "\n"));
  for (const char change : {'\1', '\xff'}) {
    std::string liar = blob;
    liar[3] = static_cast<char>(liar[3] + change);
    CHECK_FALSE(read_all(liar));
  }
  CHECK(read_all(blob, content.size()));
  const auto too_large = read_all(blob, content.size() - 1);
  REQUIRE_FALSE(too_large);
  CHECK(too_large.error().code == ErrorCode::kLimit);
}

TEST_CASE("a digest of pieces equals that of the whole") {
  for (const std::string& text : {std::string(), std::string(300'000, 'x')}) {
    RunningDigest sha1 = RunningDigest::sha1();
    RunningDigest sha3 = RunningDigest::sha3_256();
    for (std::size_t at = 0; at < text.size(); at += 1000) {
      sha1.add(std::string_view(text).substr(at, 1000));
      sha3.add(std::string_view(text).substr(at, 1000));
    }
    CHECK(sha1.hex() == sha1_hex(text));
    CHECK(sha3.hex() == sha3_256_hex(text));
  }
}

TEST_CASE("a forked digest continues separately") {
  RunningDigest one = RunningDigest::md5();
  one.add("begin ");
  RunningDigest other = one.fork();
  one.add("one");
  other.add("other");
  CHECK(one.hex() == md5_hex("begin one"));
  CHECK(other.hex() == md5_hex("begin other"));
}

}  // namespace quarry::artifact
