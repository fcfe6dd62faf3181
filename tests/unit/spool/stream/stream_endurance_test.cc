// Tests a stream with a destination that is down for a long time, and a stream with many threads.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "stream_world.h"
#include "temporary_folder.h"

using namespace quarry::spool;
using namespace std::chrono_literals;

namespace {

/// Returns $QUARRY_TEST_MESSAGES (default: 100000).
std::uint64_t messages_wanted() {
  const char* const wanted = std::getenv("QUARRY_TEST_MESSAGES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 100000;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepsFreedMemory = true;  // sanitizers delay the release of memory
#else
constexpr bool kKeepsFreedMemory = false;
#endif

/// Returns this process's memory use in bytes.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t pages = 0;
  file >> all >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Returns true if memory has grown by at most 24 MiB since BEFORE. The check is only meaningful
/// with at least a million messages, whose contents take 100 MB.
bool has_grown_little(std::size_t before) {
  return kKeepsFreedMemory || resident() < before + (std::size_t{24} << 20);
}

StreamOptions unsynced_in(const TemporaryFolder& folder) {
  StreamOptions options = stream_options(false);
  options.location.folder = folder.path();
  options.max_file_size = 1 << 20;
  return options;
}

/// Settles all messages of SUBSCRIPTION with OUTCOME and returns their number.
std::uint64_t settle_all(Subscription& subscription, Outcome outcome) {
  return drain(subscription, outcome, std::nullopt, 1000).size();
}

}  // namespace

TEST_CASE("a destination that is down for long costs disk, not memory, and delays no other") {
  const TemporaryFolder folder;
  StreamWorld world(quarry::base::FileSystem::real(), unsynced_in(folder));
  auto away = world.subscribe("away");
  const auto well = world.subscribe("well");
  const std::uint64_t all = messages_wanted();
  constexpr std::uint64_t kAtOnce = 1000;
  const std::string content(100, 'x');
  const std::vector<NewMessage> messages(kAtOnce, {.content = content});
  const std::size_t before = resident();
  std::uint64_t delivered = 0;
  for (std::uint64_t sent = 0; sent < all; sent += kAtOnce) {
    REQUIRE(world.stream->append(messages));
    // Every attempt to deliver to this destination fails.
    settle_all(*away, Outcome::kRetry);
    world.clock.pass(1s);
    delivered += settle_all(*well, Outcome::kDone);
    CHECK(delivered == sent + kAtOnce);
  }
  const SubscriptionStatistics figures = away->statistics();
  CHECK(figures.waiting == all);
  CHECK(figures.postponed <= SubscriptionOptions().window);
  CHECK(world.status().bytes > all * content.size());
  CHECK(has_grown_little(before));
  // Memory use stays low when a new process delivers all messages to the destination.
  world.reopen();
  world.clock.pass(24h);
  away = world.subscribe("away");
  CHECK(settle_all(*away, Outcome::kDone) == all);
  CHECK(has_grown_little(before));
  CHECK(world.status().bytes < std::size_t{4} << 20);
}

TEST_CASE(
    "threads that append and threads that deliver get each message once to each subscription") {
  const TemporaryFolder folder;
  const auto opened = Stream::open(unsynced_in(folder), {});
  REQUIRE(opened);
  Stream& stream = **opened;
  constexpr std::size_t kSubscriptions = 3;
  constexpr std::size_t kProducers = 3;
  constexpr std::uint64_t kEach = 3000;
  constexpr std::uint64_t kAll = kEach * kProducers;
  std::vector<std::shared_ptr<Subscription>> subscriptions;
  for (std::size_t i = 0; i < kSubscriptions; ++i) {
    const auto made = stream.subscribe("s" + std::to_string(i));
    REQUIRE(made);
    subscriptions.push_back(*made);
  }
  std::array<std::vector<std::atomic<int>>, kSubscriptions> counts;
  for (auto& one : counts) one = std::vector<std::atomic<int>>(kAll + 1);
  std::array<std::atomic<std::uint64_t>, kSubscriptions> done{};
  const auto deliver = [&](std::size_t i) {
    while (done.at(i) < kAll) {
      if (!subscriptions.at(i)->wait(1s)) continue;
      const auto taken = subscriptions.at(i)->take(50);
      if (!taken) return;
      std::vector<Settlement> settled;
      for (const auto& message : *taken) {
        const bool is_tried = message.attempts > 1 || message.id % 10 != 0;
        settled.push_back({.sequence = message.sequence,
                           .outcome = is_tried ? Outcome::kDone : Outcome::kRetry,
                           .delay = 1ms});
        if (is_tried) ++counts.at(i).at(message.id);
        if (is_tried) ++done.at(i);
      }
      if (!subscriptions.at(i)->settle(settled)) return;
      if (done.at(i) >= kAll) subscriptions.at(i)->wake();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kSubscriptions; ++i) {
      threads.emplace_back(deliver, i);
      threads.emplace_back(deliver, i);
    }
    for (std::size_t i = 0; i < kProducers; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t sent = 0; sent < kEach; sent += 10) {
          const std::vector<NewMessage> messages(10, {.content = "x"});
          if (!stream.append(messages)) return;
        }
      });
    }
    threads.clear();
  }
  for (const auto& one : counts) {
    for (std::uint64_t id = 1; id <= kAll; ++id) CHECK(one.at(id) == 1);
  }
}
