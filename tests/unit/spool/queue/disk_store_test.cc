#include "queue/disk_store.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "quarry/spool/spool.h"
#include "store_world.h"

using namespace quarry::spool;
using quarry::base::Error;
using quarry::base::ErrorCode;

namespace {

std::size_t segments_in(const MemoryFileSystem& system) {
  std::size_t count = 0;
  for (const auto& [name, content] : system.image()) {
    if (segment_number(kName, name)) ++count;
  }
  return count;
}

struct OwnFiles {
  MemoryFileSystem system;
};
/// A store with small segments in memory.
struct SmallStore : OwnFiles, StoreWorld {
  explicit SmallStore(const MemoryFileSystem::Image& image = {},
                      const QueueOptions& options = small_segments())
      : OwnFiles{MemoryFileSystem(image)}, StoreWorld(system, options) {}

  /// Returns the content of the segment NUMBER if it was set aside as damaged. Otherwise returns
  /// nullopt.
  std::optional<std::string> aside(std::uint64_t number) const {
    const auto image = system.image();
    const auto found = image.find(segment_file(number) + ".damaged");
    return found == image.end() ? std::nullopt : std::optional(found->second);
  }
};

QueueOptions with_disk_space(std::uint64_t bytes) {
  QueueOptions options = small_segments();
  options.max_disk_space = bytes;
  return options;
}

const Reporter kQuiet = [](const std::string&) {};
const Error kFull{ErrorCode::kNoSpace, "No space left on device"};

/// Returns the files of a store with messages 1 to COUNT in small segments.
MemoryFileSystem::Image files_with(std::size_t count) {
  SmallStore world;
  REQUIRE(world.push(1, count) == count);
  return world.system.image();
}

}  // namespace

TEST_CASE("a batch of large messages has fewer of them") {
  MemoryFileSystem system;
  StoreWorld world(system);
  std::vector<Message> large(5, Message{.content = std::string(5 << 20, 'x')});
  Error error;
  REQUIRE(world.store->push(large, &error) == 5);
  Batch batch = world.store->take(5);
  CHECK(batch.messages.size() == 2);
  world.store->settle(std::move(batch), 2);
  CHECK(world.drain().size() == 3);
}

TEST_CASE_FIXTURE(SmallStore, "a segment is removed when all of it is settled, and not before") {
  push(1, 100);
  const std::size_t all = segments_in(system);
  Batch first = store->take(3);
  Batch second = store->take(60);
  store->settle(std::move(second), 60);
  CHECK(segments_in(system) == all);
  store->settle(std::move(first), 3);
  CHECK(segments_in(system) < all - 8);
  CHECK(drain() == numbered_messages(64, 100));
}

TEST_CASE_FIXTURE(SmallStore,
                  "unsettled messages are delivered again after a restart, from the checkpoint") {
  push(1, 40);
  store->settle(store->take(12), 12);
  store->take(5);
  REQUIRE(store->checkpoint());
  CHECK(store->unsettled() == 28);
  SmallStore again(system.image());
  CHECK(has(again.reported, "28 messages from an earlier run"));
  again.push(41, 45);
  CHECK(again.drain() == numbered_messages(13, 45));
}

TEST_CASE("checkpoint intervals limit duplicates after a crash") {
  QueueOptions options;
  options.checkpoint_interval = 10;
  SmallStore world({}, options);
  world.push(1, 100);
  for (int i = 0; i < 25; ++i) world.store->settle(world.store->take(1), 1);
  CHECK(SmallStore(world.system.image(), options).drain() == numbered_messages(21, 100));
}

TEST_CASE_FIXTURE(SmallStore, "messages that were taken before all others can be put before them") {
  push(11, 30);
  std::vector<Message> earlier = numbered_messages(1, 10);
  Error refused;
  CHECK(store->push_front(earlier, &refused) == 10);
  CHECK(store->waiting() == 30);
  CHECK(SmallStore(system.image()).drain() == numbered_messages(1, 30));
}

TEST_CASE_FIXTURE(SmallStore, "once messages were taken, others can only be appended") {
  push(1, 20);
  store->settle(store->take(6), 6);
  std::vector<Message> late = numbered_messages(21, 22);
  Error refused;
  CHECK(store->push_front(late, &refused) == 2);
  CHECK(drain() == numbered_messages(7, 22));
}

TEST_CASE("a segment with a flipped bit is set aside by name, and the others are delivered") {
  const auto whole = files_with(40);
  for (const std::uint64_t number : {1U, 2U, 4U}) {
    for (const std::size_t offset : {20UZ, 33UZ, 50UZ, 100UZ}) {
      CAPTURE(number);
      CAPTURE(offset);
      auto image = whole;
      image[segment_file(number)][offset] ^= 4;
      SmallStore world(image);
      const auto got = world.drain();
      CHECK(got.size() < 40);
      CHECK(got.size() >= 33);
      const auto number_of = [](const Message& m) { return std::stoi(m.content.substr(8)); };
      CHECK(std::ranges::includes(numbered_messages(1, 40), got, {}, number_of, number_of));
      CHECK(got.back() == numbered(40));
      CHECK(has(world.reported, segment_file(number)));
      CHECK(world.aside(number) == image[segment_file(number)]);
    }
  }
}

TEST_CASE("a truncated, missing or foreign segment is reported, and the others are delivered") {
  for (const char* damage : {"truncated", "missing", "foreign"}) {
    CAPTURE(damage);
    auto image = files_with(40);
    if (damage == std::string("truncated")) image[segment_file(3)].resize(80);
    if (damage == std::string("missing")) image.erase(segment_file(3));
    if (damage == std::string("foreign")) image[segment_file(3)][6] = 0;
    SmallStore world(image);
    const auto got = world.drain();
    CHECK(got.size() < 40);
    CHECK(got.back() == numbered(40));
    CHECK(has(world.reported, "messages are missing or unreadable"));
    CHECK(world.aside(3).has_value() == (damage != std::string("missing")));
    CHECK(has(world.reported, "unsupported format 0 (this program supports 1)") ==
          (damage == std::string("foreign")));
  }
}

TEST_CASE("a truncated last message was never accepted, and is not damage") {
  auto image = files_with(3);
  image[segment_file(1)].pop_back();
  SmallStore world(image);
  CHECK(world.drain() == numbered_messages(1, 2));
  CHECK(world.push(4, 5) == 2);
  CHECK(world.drain() == numbered_messages(4, 5));
  CHECK(has(world.reported, "the last message is incomplete"));
  CHECK_FALSE(world.aside(1));
}

TEST_CASE("a truncated last message is reported before the files are removed") {
  auto image = files_with(3);
  image[segment_file(1)].pop_back();
  SmallStore world(image);
  CHECK(world.drain() == numbered_messages(1, 2));
  REQUIRE(world.store->destroy());
  CHECK(has(world.reported, "the last message is incomplete"));
}

TEST_CASE("damage at the end of the current segment does not block later messages") {
  auto image = files_with(8);
  image[segment_file(2)][60] ^= 1;
  SmallStore world(image);
  world.drain();
  CHECK(world.store->waiting() == 0);
  CHECK(world.push(9, 12) == 4);
  CHECK(world.drain() == numbered_messages(9, 12));
}

TEST_CASE("a damaged position file costs duplicates, not messages, and is kept unless ignored") {
  QueueOptions ignoring = small_segments();
  ignoring.on_corruption = OnCorruption::kIgnore;
  for (const char* text :
       {"", "quarry-spool 1\nsegment 2\n", "quarry-spool 7\nwhatever\n",
        "quarry-spool 1\nsegment 2\noffset 32\nsequence 5\nchecksum 00000000\n"}) {
    CAPTURE(text);
    auto image = files_with(20);
    image["q.qi"] = text;
    for (const QueueOptions& options : {small_segments(), ignoring}) {
      SmallStore world(image, options);
      CHECK(world.drain() == numbered_messages(1, 20));
      CHECK(has(world.reported, "q.qi"));
      const auto left = world.system.image();
      const bool is_kept = options.on_corruption == OnCorruption::kSafe;
      CHECK(left.contains("q.qi.damaged") == is_kept);
      if (is_kept) CHECK(left.at("q.qi.damaged") == text);
    }
  }
}

TEST_CASE("a position file of another generation does not hide messages") {
  auto image = files_with(20);
  SmallStore old;
  old.push(1, 60);
  old.drain();
  REQUIRE(old.store->checkpoint());
  image["q.qi"] = old.system.image().at("q.qi");
  MemoryFileSystem found(image);
  const auto status = spool_status(
      {.folder = "/spool", .name = kName}, [](const std::string&) {}, found);
  REQUIRE(status);
  CHECK(status->messages == 20);
  SmallStore world(image);
  CHECK(world.drain() == numbered_messages(1, 20));
  CHECK(has(world.reported, "does not match the segments"));
}

TEST_CASE("segments without a position file are delivered from the beginning") {
  auto image = files_with(20);
  image.erase("q.qi");
  SmallStore world(image);
  CHECK(DiskStore::is_there(world.files).value());
  CHECK(world.drain() == numbered_messages(1, 20));
}

TEST_CASE_FIXTURE(SmallStore,
                  "a full disk rejects a message completely, and continues when there is room") {
  bool is_full = false;
  system.before = [&](std::uint64_t) { return is_full ? std::optional(kFull) : std::nullopt; };
  CHECK(push(1, 3) == 3);
  is_full = true;
  CHECK(push(4, 4) == 0);
  CHECK(has(error, "No space left"));
  CHECK(drain(1) == numbered_messages(1, 3));
  is_full = false;
  CHECK(push(4, 30) == 27);
  CHECK(drain() == numbered_messages(4, 30));
}

TEST_CASE("a producer that waits for room does not create empty segments") {
  SmallStore world({}, with_disk_space(1000));
  REQUIRE(world.push(1, 3) == 3);
  Message large{.content = std::string(950, 'x')};
  Error error;
  for (int i = 0; i < 100; ++i) CHECK(world.store->push(std::span(&large, 1), &error) == 0);
  CHECK(has(error.message, "queue.maxdiskspace"));
  CHECK(segments_in(world.system) <= 2);
  CHECK(world.drain() == numbered_messages(1, 3));
  REQUIRE(world.store->make_room());
  REQUIRE(world.store->push(std::span(&large, 1), &error) == 1);
  CHECK(world.drain() == std::vector<Message>{{.content = std::string(950, 'x')}});
}

TEST_CASE_FIXTURE(SmallStore, "a disk that is full to the last byte is freed by reading") {
  REQUIRE(push(1, 60) == 60);
  const auto used = [this] {
    std::size_t bytes = 0;
    for (const auto& [name, content] : system.image()) bytes += content.size();
    return bytes;
  };
  // Files can be removed, but nothing can be written.
  system.before = [&, before = used()](std::uint64_t) {
    const bool may_go = used() < before || system.is_removing();
    return may_go ? std::nullopt : std::optional(kFull);
  };
  CHECK(drain(10) == numbered_messages(1, 60));
  CHECK(segments_in(system) <= 2);
  CHECK(push(61, 64) == 4);
  CHECK(drain() == numbered_messages(61, 64));
}

TEST_CASE("queue.maxdiskspace bounds all segments together") {
  SmallStore world({}, with_disk_space(1000));
  const std::size_t taken = world.push(1, 100);
  CHECK(taken > 20);
  CHECK(taken < 50);
  CHECK(has(world.error, "queue.maxdiskspace"));
  CHECK(world.store->bytes() <= 1000);
  CHECK(world.drain() == numbered_messages(1, taken));
  CHECK(world.push(taken + 1, taken + 10) == 10);
  CHECK(world.drain() == numbered_messages(taken + 1, taken + 10));
}

TEST_CASE("lost messages are settled, even if the next segment had no header at first") {
  MemoryFileSystem system;
  const SpoolFiles files(system, "/spool", kName, false);
  const auto writer = DiskStore::open(files, {}, kQuiet, Roles::kWriter);
  REQUIRE(writer);
  std::vector<Message> messages = numbered_messages(1, 5);
  Error error;
  REQUIRE((*writer)->push(messages, &error) == 5);
  std::string content = system.image().at(segment_file(1));
  content[content.find("message 2")] ^= 1;
  const auto file = system.open(files.segment(1), quarry::base::FileUse::kAppend);
  REQUIRE(file);
  REQUIRE((*file)->truncate(0));
  REQUIRE((*file)->append(content));
  const auto reader = DiskStore::open(files, {}, kQuiet, Roles::kReader);
  REQUIRE(reader);
  Batch batch = (*reader)->take(10);
  REQUIRE(batch.messages == numbered_messages(1, 1));
  (*reader)->settle(std::move(batch), 1);

  // The reader tries to read the new segment while it is still empty.
  int reads = 0;
  system.before = [&](std::uint64_t) -> std::optional<Error> {
    const auto there = system.image();
    const auto second = there.find(segment_file(2));
    if (reads == 0 && second != there.end() && second->second.empty()) {
      ++reads;
      CHECK((*reader)->take(10).empty());
    }
    return std::nullopt;
  };
  (*writer)->end_segment();
  CHECK(reads == 1);
  CHECK((*reader)->take(10).empty());
  CHECK((*reader)->take(10).empty());
  (*reader)->publish_progress();
  (*writer)->refresh_progress();
  CHECK((*writer)->unsettled() == 0);
}
