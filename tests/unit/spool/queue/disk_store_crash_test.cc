// Simulates a crash of the machine after each file operation of a disk queue. Any part of the
// unsynced data can be lost.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "crashes.h"
#include "store_world.h"

using namespace quarry::spool;

namespace {

/// The messages that were acknowledged after `operations` operations.
struct Promise {
  std::size_t operations;
  std::size_t taken;    // number of accepted messages
  std::size_t settled;  // number of settled messages
};

constexpr std::size_t kMessages = 24;

/// Records a scenario with full segments, batches of all sizes, returned messages, checkpoints, a
/// shutdown and a restart.
Recording<Promise> record(bool synced) {
  MemoryFileSystem system;
  Recording<Promise> recording;
  std::size_t taken = 0;
  std::size_t settled = 0;
  const auto promise = [&] {
    recording.promises.push_back({system.operations().size(), taken, settled});
  };
  QueueOptions options = small_segments();
  options.checkpoint_interval = 3;
  const auto push = [&](StoreWorld& world, std::size_t count) {
    std::vector<Message> messages = numbered_messages(taken + 1, taken + count);
    quarry::base::Error error;
    REQUIRE(world.store->push(messages, &error) == count);
    taken += count;
    promise();
  };
  const auto consume = [&](StoreWorld& world, std::size_t count, std::size_t delivered) {
    Batch batch = world.store->take(count);
    REQUIRE(batch.messages.front() == numbered(settled + 1));
    // A batch of returned messages does not contain new messages, so it can be smaller than
    // DELIVERED.
    delivered = std::min(delivered, batch.messages.size());
    // Messages count as settled as soon as the consumer has received them.
    settled += delivered;
    promise();
    world.store->settle(std::move(batch), delivered);
    promise();
  };
  {
    StoreWorld world(system, options, synced);
    push(world, 1);
    push(world, 5);
    consume(world, 2, 2);
    push(world, 6);
    consume(world, 4, 1);
    consume(world, 7, 7);
    REQUIRE(world.store->checkpoint());
    promise();
  }
  {
    StoreWorld world(system, options, synced);
    promise();
    push(world, 8);
    consume(world, 3, 3);
    push(world, 4);
    while (settled < taken) consume(world, 11, 11);
    REQUIRE(world.store->destroy());
    promise();
  }
  REQUIRE(taken == kMessages);
  REQUIRE(settled == kMessages);
  recording.operations = system.operations();
  return recording;
}

/// Returns true if MESSAGES are messages of the test in ascending order.
bool are_of_the_test(const std::vector<Message>& messages) {
  std::size_t before = 0;
  for (const Message& message : messages) {
    const std::size_t number = std::stoul(message.content.substr(8));
    if (number <= before || number > kMessages || message != numbered(number)) return false;
    before = number;
  }
  return true;
}

/// Returns the messages that a new process delivers from IMAGE.
std::vector<Message> recovered(const MemoryFileSystem::Image& image, std::string& reported) {
  MemoryFileSystem system(image);
  StoreWorld world(system, small_segments());
  REQUIRE(world.error == "");
  auto messages = world.drain();
  reported = world.reported;
  // The queue must accept and deliver new messages.
  REQUIRE(world.push(kMessages + 1, kMessages + 2) == 2);
  REQUIRE(world.drain() == numbered_messages(kMessages + 1, kMessages + 2));
  return messages;
}

bool holds(const std::vector<Message>& messages, std::size_t first, std::size_t last) {
  return std::ranges::all_of(numbered_messages(first, last), [&](const Message& message) {
    return std::ranges::find(messages, message) != messages.end();
  });
}

}  // namespace

TEST_CASE("with queue.syncqueuefiles, acknowledged messages survive a crash at any point") {
  const Recording<Promise> recording = record(true);
  for_each_crash(recording.operations, 10, 1000, [&](const auto& image, std::size_t count) {
    std::string reported;
    const auto messages = recovered(image, reported);
    const Promise promise = recording.at(count);
    CAPTURE(reported);
    REQUIRE(are_of_the_test(messages));
    REQUIRE(holds(messages, promise.settled + 1, promise.taken));
    REQUIRE_FALSE(has(reported, "missing or unreadable"));
  });
}

TEST_CASE("without queue.syncqueuefiles, a crash of the machine loses messages, but invents none") {
  for_each_crash(record(false).operations, 5, 50, [](const auto& image, std::size_t /*count*/) {
    std::string reported;
    const auto messages = recovered(image, reported);
    CAPTURE(reported);
    REQUIRE(are_of_the_test(messages));
  });
}

TEST_CASE("a process that is killed at any byte of any write loses nothing that was acknowledged") {
  const auto every_byte = [](std::size_t) { return 1UZ; };
  for (const bool synced : {false, true}) {
    const Recording<Promise> recording = record(synced);
    for_each_kill(recording.operations, every_byte, [&](const auto& image, std::size_t count) {
      std::string reported;
      const auto messages = recovered(image, reported);
      const Promise promise = recording.at(count);
      CAPTURE(reported);
      REQUIRE(are_of_the_test(messages));
      REQUIRE(holds(messages, promise.settled + 1, promise.taken));
      // Incomplete messages were never acknowledged, so they do not count as a loss.
      REQUIRE_FALSE(has(reported, "damaged"));
      REQUIRE_FALSE(has(reported, "missing or unreadable"));
    });
  }
}
