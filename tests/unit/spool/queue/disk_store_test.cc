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

/// The files of a store with messages 1 to COUNT in small segments.
MemoryFileSystem::Image files_with(std::size_t count) {
  MemoryFileSystem system;
  StoreWorld world(system, small_segments());
  REQUIRE(world.push(1, count) == count);
  return system.image();
}

}  // namespace

TEST_CASE("messages keep their order across segments") {
  MemoryFileSystem system;
  StoreWorld world(system, small_segments());
  CHECK(world.push(1, 100) == 100);
  CHECK(segments_in(system) > 10);
  CHECK(world.store->waiting() == 100);
  CHECK(world.drain() == numbered_messages(1, 100));
  CHECK(world.store->waiting() == 0);
  CHECK(world.reported.empty());
}

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

TEST_CASE("a segment is removed when all of it is settled, and not before") {
  MemoryFileSystem system;
  StoreWorld world(system, small_segments());
  world.push(1, 100);
  const std::size_t all = segments_in(system);
  Batch first = world.store->take(3);
  Batch second = world.store->take(60);
  world.store->settle(std::move(second), 60);
  CHECK(segments_in(system) == all);
  world.store->settle(std::move(first), 3);
  CHECK(segments_in(system) < all - 8);
  CHECK(world.drain() == numbered_messages(64, 100));
}

TEST_CASE("messages that are given back are delivered again first") {
  MemoryFileSystem system;
  StoreWorld world(system, small_segments());
  world.push(1, 20);
  Batch first = world.store->take(5);
  Batch second = world.store->take(5);
  world.store->settle(std::move(second), 2);
  world.store->settle(std::move(first), 0);
  CHECK(world.store->waiting() == 18);
  std::vector<Message> expected = numbered_messages(1, 5);
  for (const Message& message : numbered_messages(8, 20)) expected.push_back(message);
  CHECK(world.drain(3) == expected);
}

TEST_CASE("unsettled messages are delivered again after a restart, from the last checkpoint") {
  MemoryFileSystem system;
  {
    StoreWorld world(system, small_segments());
    world.push(1, 40);
    Batch settled = world.store->take(12);
    world.store->settle(std::move(settled), 12);
    world.store->take(5);
    REQUIRE(world.store->checkpoint());
    CHECK(world.store->unsettled() == 28);
  }
  StoreWorld again(system, small_segments());
  CHECK(has(again.reported, "28 messages of before"));
  again.push(41, 45);
  CHECK(again.drain() == numbered_messages(13, 45));
}

TEST_CASE("checkpoint intervals limit duplicates after a crash") {
  MemoryFileSystem system;
  QueueOptions options;
  options.checkpoint_interval = 10;
  StoreWorld world(system, options);
  world.push(1, 100);
  for (int i = 0; i < 25; ++i) world.store->settle(world.store->take(1), 1);
  MemoryFileSystem crashed(system.image());
  StoreWorld again(crashed, options);
  CHECK(again.drain() == numbered_messages(21, 100));
}

TEST_CASE("an empty queue leaves only its lock files, and can start again") {
  MemoryFileSystem system;
  {
    StoreWorld world(system, small_segments());
    world.push(1, 30);
    world.drain();
    REQUIRE(world.store->destroy());
  }
  CHECK(system.image().empty());
  StoreWorld again(system, small_segments());
  CHECK(again.reported.empty());
  again.push(31, 40);
  CHECK(again.drain() == numbered_messages(31, 40));
}

TEST_CASE("messages that were taken before all others can be put before them") {
  MemoryFileSystem system;
  {
    StoreWorld world(system, small_segments());
    world.push(11, 30);
    std::vector<Message> earlier = numbered_messages(1, 10);
    Error error;
    CHECK(world.store->push_front(earlier, &error) == 10);
    CHECK(world.store->waiting() == 30);
  }
  StoreWorld again(system, small_segments());
  CHECK(again.drain() == numbered_messages(1, 30));
}

TEST_CASE("once messages were taken, others can only be appended") {
  MemoryFileSystem system;
  StoreWorld world(system, small_segments());
  world.push(1, 20);
  world.store->settle(world.store->take(6), 6);
  std::vector<Message> late = numbered_messages(21, 22);
  Error error;
  CHECK(world.store->push_front(late, &error) == 2);
  CHECK(world.drain() == numbered_messages(7, 22));
}

TEST_CASE("a segment with a flipped bit is set aside by name, and the others are delivered") {
  const auto whole = files_with(40);
  for (const std::uint64_t number : {1U, 2U, 4U}) {
    for (const std::size_t offset :
         {std::size_t{20}, std::size_t{33}, std::size_t{50}, std::size_t{100}}) {
      CAPTURE(number);
      CAPTURE(offset);
      auto image = whole;
      image[segment_file(number)][offset] ^= 4;
      MemoryFileSystem system(image);
      StoreWorld world(system, small_segments());
      const auto got = world.drain();
      CHECK(got.size() < 40);
      CHECK(got.size() >= 33);
      const auto all = numbered_messages(1, 40);
      CHECK(std::ranges::includes(
          all, got, {}, [](const Message& m) { return std::stoi(m.content.substr(8)); },
          [](const Message& m) { return std::stoi(m.content.substr(8)); }));
      CHECK(got.back() == numbered(40));
      CHECK(has(world.reported, segment_file(number)));
      const auto left = system.image();
      REQUIRE(left.contains(segment_file(number) + ".damaged"));
      CHECK(left.at(segment_file(number) + ".damaged") == image[segment_file(number)]);
    }
  }
}

TEST_CASE("a truncated or missing segment is reported with the missing messages") {
  const auto whole = files_with(40);
  auto cut = whole;
  cut[segment_file(3)].resize(80);
  MemoryFileSystem system(cut);
  StoreWorld world(system, small_segments());
  const auto got = world.drain();
  CHECK(got.size() < 40);
  CHECK(got.back() == numbered(40));
  CHECK(has(world.reported, "messages cannot be read"));
  CHECK(system.image().contains(segment_file(3) + ".damaged"));

  auto gone = whole;
  gone.erase(segment_file(3));
  MemoryFileSystem other(gone);
  StoreWorld rest(other, small_segments());
  CHECK(rest.drain().back() == numbered(40));
  CHECK(has(rest.reported, "messages cannot be read"));
}

TEST_CASE("a truncated last message was never accepted, and is not damage") {
  auto image = files_with(3);
  image[segment_file(1)].pop_back();
  MemoryFileSystem system(image);
  StoreWorld world(system);
  CHECK(world.drain() == numbered_messages(1, 2));
  CHECK(world.push(4, 5) == 2);
  CHECK(world.drain() == numbered_messages(4, 5));
  CHECK(has(world.reported, "cut off"));
  CHECK_FALSE(system.image().contains(segment_file(1) + ".damaged"));
}

TEST_CASE("damage at the end of the current segment does not block later messages") {
  auto image = files_with(8);
  image[segment_file(2)][60] ^= 1;
  MemoryFileSystem system(image);
  StoreWorld world(system, small_segments());
  const auto first = world.drain();
  CHECK(world.store->waiting() == 0);
  CHECK(world.push(9, 12) == 4);
  CHECK(world.drain() == numbered_messages(9, 12));
}

TEST_CASE("segments of another format are set aside, and the others are delivered") {
  auto image = files_with(20);
  image[segment_file(1)][6] = 0;
  MemoryFileSystem system(image);
  StoreWorld world(system, small_segments());
  const auto got = world.drain();
  CHECK(got.front() != numbered(1));
  CHECK(got.back() == numbered(20));
  CHECK(has(world.reported, "it has format 0, and this program reads 1"));
}

TEST_CASE("a damaged position file costs duplicates, not messages") {
  for (const char* text :
       {"", "quarry-spool 1\nsegment 2\n", "quarry-spool 7\nwhatever\n",
        "quarry-spool 1\nsegment 2\noffset 32\nsequence 5\nchecksum 00000000\n"}) {
    CAPTURE(text);
    auto image = files_with(20);
    image["q.qi"] = text;
    MemoryFileSystem system(image);
    StoreWorld world(system, small_segments());
    CHECK(world.drain() == numbered_messages(1, 20));
    CHECK(has(world.reported, "q.qi"));
    CHECK(system.image().at("q.qi.damaged") == text);
  }
}

TEST_CASE("a damaged position file that is to be ignored is not kept") {
  auto image = files_with(20);
  image["q.qi"] = "quarry-spool 1\n";
  MemoryFileSystem system(image);
  QueueOptions options = small_segments();
  options.on_corruption = OnCorruption::kIgnore;
  StoreWorld world(system, options);
  CHECK(world.drain() == numbered_messages(1, 20));
  CHECK(has(world.reported, "q.qi"));
  CHECK_FALSE(system.image().contains("q.qi.damaged"));
}

TEST_CASE("a position file of another generation does not hide messages") {
  auto image = files_with(20);
  MemoryFileSystem before;
  StoreWorld old(before, small_segments());
  old.push(1, 60);
  old.drain();
  REQUIRE(old.store->checkpoint());
  image["q.qi"] = before.image().at("q.qi");
  MemoryFileSystem system(image);
  const auto status = spool_status({.folder = "/spool", .name = kName}, system);
  REQUIRE(status);
  CHECK(status->messages == 20);
  StoreWorld world(system, small_segments());
  CHECK(world.drain() == numbered_messages(1, 20));
  CHECK(has(world.reported, "not of these segments"));
}

TEST_CASE("segments without a position file are delivered from the beginning") {
  auto image = files_with(20);
  image.erase("q.qi");
  MemoryFileSystem system(image);
  CHECK(DiskStore::is_there(SpoolFiles(system, "/spool", kName, false)).value());
  StoreWorld world(system, small_segments());
  CHECK(world.drain() == numbered_messages(1, 20));
}

TEST_CASE("a full disk rejects a message completely, and continues when there is room") {
  MemoryFileSystem system;
  StoreWorld world(system, small_segments());
  bool is_full = false;
  system.before = [&](std::uint64_t) -> std::optional<Error> {
    if (!is_full) return std::nullopt;
    return Error{ErrorCode::kNoSpace, "No space left on device"};
  };
  CHECK(world.push(1, 3) == 3);
  is_full = true;
  CHECK(world.push(4, 4) == 0);
  CHECK(has(world.error, "No space left"));
  CHECK(world.drain(1) == numbered_messages(1, 3));
  is_full = false;
  CHECK(world.push(4, 30) == 27);
  CHECK(world.drain() == numbered_messages(4, 30));
}

TEST_CASE("a producer that waits for room does not create empty segments") {
  MemoryFileSystem system;
  QueueOptions options = small_segments();
  options.max_disk_space = 1000;
  StoreWorld world(system, options);
  REQUIRE(world.push(1, 3) == 3);
  Message large{.content = std::string(950, 'x')};
  Error error;
  for (int i = 0; i < 100; ++i) CHECK(world.store->push(std::span(&large, 1), &error) == 0);
  CHECK(has(error.message, "queue.maxdiskspace"));
  CHECK(segments_in(system) <= 2);
  CHECK(world.drain() == numbered_messages(1, 3));
  REQUIRE(world.store->make_room());
  REQUIRE(world.store->push(std::span(&large, 1), &error) == 1);
  CHECK(world.drain() == std::vector<Message>{{.content = std::string(950, 'x')}});
}

TEST_CASE("a disk that is full to the last byte is freed by reading") {
  MemoryFileSystem system;
  StoreWorld world(system, small_segments());
  REQUIRE(world.push(1, 60) == 60);
  std::size_t used = 0;
  for (const auto& [name, content] : system.image()) used += content.size();
  system.before = [&](std::uint64_t) -> std::optional<Error> {
    std::size_t now = 0;
    for (const auto& [name, content] : system.image()) now += content.size();
    if (now < used) return std::nullopt;
    // Files can be removed, but nothing can be written.
    const bool is_removal = system.is_removing();
    return is_removal ? std::nullopt
                      : std::optional(Error{ErrorCode::kNoSpace, "No space left on device"});
  };
  CHECK(world.drain(10) == numbered_messages(1, 60));
  CHECK(segments_in(system) <= 2);
  CHECK(world.push(61, 64) == 4);
  CHECK(world.drain() == numbered_messages(61, 64));
}

TEST_CASE("queue.maxdiskspace bounds all segments together") {
  MemoryFileSystem system;
  QueueOptions options = small_segments();
  options.max_disk_space = 1000;
  StoreWorld world(system, options);
  const std::size_t taken = world.push(1, 100);
  CHECK(taken > 20);
  CHECK(taken < 50);
  CHECK(has(world.error, "queue.maxdiskspace"));
  CHECK(world.store->bytes() <= 1000);
  CHECK(world.drain() == numbered_messages(1, taken));
  CHECK(world.push(taken + 1, taken + 10) == 10);
  CHECK(world.drain() == numbered_messages(taken + 1, taken + 10));
}

TEST_CASE("a second process with the same role is refused, one with the other is not") {
  MemoryFileSystem system;
  const SpoolFiles files(system, "/spool", kName, false);
  const auto writer = files.lock(Roles::kWriter);
  REQUIRE(writer);
  CHECK_FALSE(files.lock(Roles::kWriter));
  const auto both = files.lock(Roles::kBoth);
  REQUIRE_FALSE(both);
  CHECK(both.error().code == ErrorCode::kBusy);
  CHECK(has(both.error().message, "another process writes to this queue"));
  CHECK(files.lock(Roles::kReader));
}

TEST_CASE("a reader follows a writer, as two processes do") {
  MemoryFileSystem system;
  const SpoolFiles files(system, "/spool", kName, false);
  const auto quiet = [](const std::string&) {};
  const auto reader = DiskStore::open(files, {}, quiet, Roles::kReader);
  const auto writer = DiskStore::open(files, small_segments(), quiet, Roles::kWriter);
  REQUIRE(reader);
  REQUIRE(writer);
  std::vector<Message> got;
  for (std::size_t i = 1; i <= 60; ++i) {
    Message message = numbered(i);
    Error error;
    REQUIRE((*writer)->push(std::span(&message, 1), &error) == 1);
    if (i % 3 != 0) continue;
    Batch batch = (*reader)->take(10);
    got.insert(got.end(), batch.messages.begin(), batch.messages.end());
    const std::size_t count = batch.messages.size();
    (*reader)->settle(std::move(batch), count);
  }
  CHECK(got == numbered_messages(1, 60));
  CHECK(segments_in(system) <= 2);
  const auto position = system.image().at("q.qi");
  REQUIRE((*writer)->checkpoint());
  CHECK(system.image().at("q.qi") == position);
}

TEST_CASE("lost messages are settled, even if the next segment had no header at first") {
  MemoryFileSystem system;
  const SpoolFiles files(system, "/spool", kName, false);
  const auto quiet = [](const std::string&) {};
  const auto writer = DiskStore::open(files, {}, quiet, Roles::kWriter);
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
  const auto reader = DiskStore::open(files, {}, quiet, Roles::kReader);
  REQUIRE(reader);
  Batch batch = (*reader)->take(10);
  REQUIRE(batch.messages == numbered_messages(1, 1));
  (*reader)->settle(std::move(batch), 1);

  // The writer creates the file, and the reader reads it before anything is in it.
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
