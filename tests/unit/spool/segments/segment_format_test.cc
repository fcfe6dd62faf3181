#include "segments/segment_format.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::spool;

namespace {

const Message kMessage{.content = "what is carried", .severity = 3};

std::string record_of(const Message& message) {
  std::string bytes;
  encode(bytes, 7, 1000, message);
  return bytes;
}

std::string with_flipped(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  return bytes;
}

}  // namespace

TEST_CASE("a record is decoded as it was encoded, whatever its content") {
  for (const std::string& content : {std::string(), std::string("x"), std::string(3, '\0'),
                                     std::string(70000, 'y'), record_of(kMessage)}) {
    const std::string bytes = record_of({.content = content, .severity = 0});
    const std::string followed = bytes + "more";
    const RecordView record = decode_record(followed, 7, 1000);
    REQUIRE(record.state == RecordState::kWhole);
    CHECK(record.content == content);
    CHECK(record.bytes == bytes.size());
  }
}

TEST_CASE("a truncated record is cut off, not damaged, and says how many bytes it needs") {
  const std::string bytes = record_of(kMessage);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    const RecordView record = decode_record(bytes.substr(0, size), 7, 1000);
    CHECK(record.state == RecordState::kCutOff);
    CHECK(record.bytes == (size < kRecordHeader ? kRecordHeader : bytes.size()));
  }
}

TEST_CASE("a record with any bit flipped is damaged") {
  const std::string bytes = record_of(kMessage);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    CAPTURE(bit);
    CHECK(decode_record(with_flipped(bytes, bit), 7, 1000).state == RecordState::kDamaged);
  }
}

TEST_CASE("a record is invalid in another position, and zeros are invalid anywhere") {
  const std::string bytes = record_of(kMessage);
  CHECK(decode_record(bytes, 7, 1001).state == RecordState::kDamaged);
  CHECK(decode_record(bytes, 8, 1000).state == RecordState::kDamaged);
  CHECK(decode_record(std::string(64, '\0'), 7, 1000).state == RecordState::kDamaged);
}

TEST_CASE("a segment's header is decoded, or its error reported") {
  const std::string bytes = encode(SegmentHeader{.number = 42, .first = 1ULL << 50});
  REQUIRE(bytes.size() == kSegmentHeader);
  const auto header = decode_header(bytes);
  REQUIRE(header);
  CHECK(header->number == 42);
  CHECK(header->first == 1ULL << 50);
  CHECK_FALSE(decode_header(bytes.substr(0, 31)));
  CHECK_FALSE(decode_header("#!/bin/sh\n this is no segment at all"));
  for (std::size_t bit = 0; bit < 8 * 28; ++bit) {
    CHECK_FALSE(decode_header(with_flipped(bytes, bit)));
  }
  std::string newer = bytes;
  newer[6] = 9;
  const auto other = decode_header(newer);
  REQUIRE_FALSE(other);
  CHECK(other.error().message.find("format 9") != std::string::npos);
}

TEST_CASE("the number of a segment is in its name, and other names have none") {
  CHECK(segment_name("q", 42) == "q.00000042");
  CHECK(segment_number("q", "q.00000042") == 42);
  CHECK(segment_number("q", "q.123456789") == 123456789);
  for (const char* other : {"q.qi", "q.42", "q.0000004x", "r.00000042", "q.00000042.damaged",
                            "q.000000042", "q.write.lock", "qq.00000042", ""}) {
    CAPTURE(other);
    CHECK_FALSE(segment_number("q", other));
  }
}
