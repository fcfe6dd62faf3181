// Tests which messages `quarry spool replay` recovers from damaged segments.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "quarry/spool/spool.h"
#include "store_world.h"

using namespace quarry::spool;
using namespace std::string_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;

namespace {

const SpoolLocation kPlace{.folder = "/spool", .name = kName};
const std::string kAside = segment_file(2) + ".damaged";

/// Returns the bytes of a segment with messages 1 to COUNT.
std::string segment_of(std::size_t count) {
  std::string bytes = encode(SegmentHeader{.number = 2, .first = (7ULL << 40) + 100});
  for (std::size_t i = 1; i <= count; ++i) encode(bytes, 2, (7ULL << 40) + 99 + i, numbered(i));
  return bytes;
}

/// A folder with BYTES as a segment that was set aside as damaged. replay() recovers its messages.
struct Salvage {
  explicit Salvage(const std::string& bytes) : system(MemoryFileSystem::Image{{kAside, bytes}}) {}

  bool try_replay() {
    const auto count = replay_spool(
        kPlace, [this](const std::string& line) { reported += line + "\n"; }, system);
    if (!count) error = count.error().message;
    return count.has_value();
  }
  Salvage& replay() {
    REQUIRE(try_replay());
    return *this;
  }
  std::vector<Message> rest() { return StoreWorld(system).drain(); }
  bool is_left_alone() const { return system.image().contains(kAside); }

  MemoryFileSystem system;
  std::string reported;
  std::string error;
};

}  // namespace

TEST_CASE("all messages of a segment with a damaged header are recovered") {
  for (std::size_t at = 0; at < 28; ++at) {
    CAPTURE(at);
    std::string bytes = segment_of(20);
    bytes[at] = static_cast<char>(bytes[at] ^ 0x11);
    Salvage salvage(bytes);
    salvage.replay();
    CHECK(has(salvage.reported, kAside + ": 20 messages found in a file with a damaged header"));
    CHECK_FALSE(salvage.is_left_alone());
    CHECK(salvage.rest() == numbered_messages(1, 20));
  }
}

TEST_CASE("messages after missing or zeroed bytes of a segment are recovered") {
  const std::string whole = segment_of(200);
  const std::size_t each = (whole.size() - kSegmentHeader) / 200;
  for (const auto& [begin, zeros] : {std::pair(0UZ, 100UZ), std::pair(1000UZ, 1500UZ)}) {
    std::string bytes = whole;
    bytes.replace(begin, zeros, zeros, '\0');
    const auto rest = Salvage(bytes).replay().rest();
    CHECK(rest.size() > 200 - (begin + zeros) / each - 8);
    CHECK(rest == numbered_messages(201 - rest.size(), 200));
  }
  CHECK(Salvage(whole.substr(kSegmentHeader)).replay().rest() == numbered_messages(1, 200));
}

TEST_CASE("damage after a damaged header loses only the messages that it hits") {
  std::string bytes = segment_of(20);
  bytes[2] = bytes[150] = '?';
  const auto got = Salvage(bytes).replay().rest();
  CHECK(got.size() == 19);
  CHECK(got.front() == numbered(1));
  CHECK(got.back() == numbered(20));
}

TEST_CASE("without a header, messages of any content are found, and no others") {
  std::vector<Message> sent;
  for (const std::string& content :
       {std::string(), std::string(500, '\0'), std::string("\x01\0\0\0\0", 5), segment_of(3),
        std::string(5000, 'x'), std::string(3, '\0')}) {
    sent.push_back({.content = content, .severity = 0});
  }
  std::string bytes(kSegmentHeader, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) encode(bytes, 9, i, sent[i]);
  CHECK(Salvage(bytes).replay().rest() == sent);
}

TEST_CASE("a segment without messages is left alone, and reported") {
  std::string noise = "QSPOOL";
  for (unsigned i = 0; i < 50000; ++i) noise += static_cast<char>(i * 2654435761U >> 24 & 3);
  for (const std::string& bytes :
       {std::string(), std::string("a text\n"), std::string(100000, '\0'), noise}) {
    Salvage salvage(bytes);
    salvage.replay();
    CHECK(has(salvage.reported,
              "no messages found in a file with a damaged header; file left unchanged"));
    CHECK(salvage.is_left_alone());
    CHECK(salvage.rest().empty());
  }
}

TEST_CASE("a segment that takes too long to search is kept") {
  std::string full_of_lengths;
  while (full_of_lengths.size() < 70000) full_of_lengths += "\0\x80\0\0"s;
  std::string bytes(kSegmentHeader, '\0');
  for (std::size_t i = 1; i <= 2; ++i) encode(bytes, 2, i, numbered(i));
  encode(bytes, 2, 3, {.content = full_of_lengths, .severity = 0});
  bytes.back() = '\2';
  encode(bytes, 2, 4, numbered(4));
  Salvage salvage(bytes);
  salvage.replay();
  const std::string rest = segment_file(2) + ".rest";
  CHECK(has(
      salvage.reported,
      "stopped searching the file, because it took too long; the file is kept as /spool/" + rest));
  CHECK(salvage.system.image().at(rest) == bytes);
  CHECK_FALSE(salvage.is_left_alone());
  CHECK(salvage.rest() == numbered_messages(1, 2));
}

TEST_CASE("all messages of a segment with another's name are recovered") {
  std::string bytes = encode(SegmentHeader{.number = 5, .first = 100});
  for (std::size_t i = 1; i <= 4; ++i) encode(bytes, 5, 99 + i, numbered(i));
  CHECK(Salvage(bytes).replay().rest() == numbered_messages(1, 4));
}

TEST_CASE("a replay that fails anywhere can be repeated without duplicates") {
  std::string bytes = segment_of(20);
  bytes[40] ^= 1;
  bool is_done = false;
  for (std::uint64_t at = 1; !is_done; ++at) {
    CAPTURE(at);
    Salvage salvage(bytes);
    std::uint64_t calls = 0;
    salvage.system.before = [&](std::uint64_t) -> std::optional<Error> {
      if (salvage.system.is_removing() || ++calls != at) return std::nullopt;
      return Error{ErrorCode::kNoSpace, "No space left on device"};
    };
    is_done = salvage.try_replay();
    salvage.system.before = nullptr;
    CHECK(is_done != has(salvage.error, "No space left on device"));
    CHECK(is_done != salvage.is_left_alone());
    CHECK(salvage.replay().rest() == numbered_messages(2, 20));
    const auto left = salvage.system.image();
    CHECK(std::ranges::none_of(left, [](const auto& file) { return has(file.first, "replay"); }));
  }
}
