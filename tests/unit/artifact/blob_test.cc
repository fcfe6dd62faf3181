#include "quarry/artifact/blob.h"

#include <doctest/doctest.h>

#include "support.h"

namespace quarry::artifact {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kMegabyte = 1'000'000;

void check_fails(std::string_view blob, ErrorCode code, std::size_t max_size = kMegabyte) {
  const auto content = blob_expand(blob, max_size);
  REQUIRE_FALSE(content);
  CHECK(content.error().code == code);
  CHECK_FALSE(content.error().message.empty());
}

TEST_CASE("compressed content expands to the original") {
  test::Random random;
  INFO("seed ", random.seed());
  for (const std::size_t size : {0u, 1u, 2u, 15u, 16u, 100u, 4096u, 65'537u, 500'000u}) {
    for (const std::string& content :
         {random.bytes(size), random.text(size), std::string(size, 'x')}) {
      for (const std::string& blob : {blob_compress(content), blob_compress_well(content)}) {
        CHECK(blob_declared_size(blob) == size);
        const auto expanded = blob_expand(blob, size);
        REQUIRE(expanded);
        CHECK(*expanded == content);
      }
    }
  }
}

TEST_CASE("text becomes smaller, and noise hardly larger") {
  test::Random random;
  INFO("seed ", random.seed());
  const std::string text = random.text(100'000);
  CHECK(blob_compress(text).size() < 50'000);
  CHECK(blob_compress_well(text).size() < blob_compress(text).size());
  CHECK(blob_compress(random.bytes(100'000)).size() < 100'200);
}

TEST_CASE("a zlib stream made elsewhere expands") {
  // The compressed bytes come from zlib's compress() function.
  CHECK(blob_expand("\0\0\0\0\x78\x9c\x03\0\0\0\0\1"sv, 0) == "");
  CHECK(blob_expand("\0\0\0\3\x78\x9c\x4b\x4c\x4a\x06\0\x02\x4d\x01\x27"sv, 3) == "abc");
}

TEST_CASE("the declared size is big-endian, and checked before anything else") {
  CHECK(blob_declared_size("\x01\x02\x03\x04"sv) == 0x01020304u);
  CHECK(blob_declared_size("\xff\xff\xff\xff"sv) == 0xffffffffu);
  for (const std::string_view blob : {""sv, "\0"sv, "\0\0\0"sv}) {
    CHECK_FALSE(blob_declared_size(blob));
    check_fails(blob, ErrorCode::kInvalid);
  }
  check_fails("\xff\xff\xff\xff garbage"sv, ErrorCode::kLimit);
  check_fails(blob_compress("abcd"), ErrorCode::kLimit, 3);
  CHECK(blob_expand(blob_compress("abcd"), 4));
}

TEST_CASE("a stream that is missing, cut off or damaged is refused") {
  const std::string blob = blob_compress(std::string(1000, 'a').append("and more"));
  check_fails(blob.substr(0, 4), ErrorCode::kInvalid);
  check_fails("\0\0\0\0"sv, ErrorCode::kInvalid);
  for (std::size_t size = 4; size < blob.size(); ++size) {
    check_fails(blob.substr(0, size), ErrorCode::kInvalid);
  }
  for (std::size_t at = 4; at < blob.size(); ++at) {
    std::string damaged = blob;
    damaged[at] = static_cast<char>(~damaged[at]);
    check_fails(damaged, ErrorCode::kInvalid);
  }
}

TEST_CASE("a stream with more or fewer bytes than declared, or bytes after it, is refused") {
  std::string blob = blob_compress("abcdef");
  for (const char size : {'\0', '\1', '\5', '\7', '\x64'}) {
    blob[3] = size;
    check_fails(blob, ErrorCode::kInvalid);
  }
  // The stream expands to 100 MB, but its header declares 10 bytes.
  std::string bomb = blob_compress(std::string(100 * kMegabyte, '\0'));
  bomb.replace(0, 4, "\0\0\0\x0a"sv);
  check_fails(bomb, ErrorCode::kInvalid);
  // The header declares 500 MB, but the stream has only a few bytes.
  check_fails("\x1d\xcd\x65\0\x78\x9c\x03\0\0\0\0\1"sv, ErrorCode::kInvalid, 1000 * kMegabyte);
  check_fails(blob_compress("abc") + "\n", ErrorCode::kInvalid);
}

TEST_CASE("fossil expands our blobs, and we expand fossil's") {
  if (!test::have_fossil()) return;
  test::Random random;
  INFO("seed ", random.seed());
  const test::TempDir dir;
  for (const std::size_t size : {1u, 100u, 70'000u}) {
    const std::string content = random.text(size);
    dir.write("ours", blob_compress(content));
    dir.fossil("test-uncompress ours content");
    CHECK(dir.read("content") == content);
    dir.fossil("test-compress content theirs");
    CHECK(blob_expand(dir.read("theirs"), size) == content);
  }
}

}  // namespace
}  // namespace quarry::artifact
