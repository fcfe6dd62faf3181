// Millions of messages through a small queue, with a consumer that is away every now and then.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "queue_world.h"

using namespace quarry::spool;

namespace {

constexpr std::size_t kProducers = 4;

/// $QUARRY_TEST_MESSAGES asks for more.
std::uint64_t messages_wanted() {
  const char* const wanted = std::getenv("QUARRY_TEST_MESSAGES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1000000;
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

TEST_CASE("with a consumer that stops and starts at random all messages are delivered in order") {
  const TemporaryFolder folder;
  QueueOptions options;
  options.spool_directory = folder.path();
  options.filename = "q";
  options.size = 10000;
  options.save_on_shutdown = true;
  options.timeout_enqueue = options.timeout_shutdown = kEternal;
  const std::uint64_t each = messages_wanted() / kProducers;

  std::array<std::uint64_t, kProducers> next{};
  bool is_in_order = true;
  std::atomic<std::uint64_t> delivered{0};
  std::mt19937 random(1);
  std::uint64_t away_until = 0;
  std::uint64_t calls = 0;
  const auto consumer = [&](std::span<const Message> batch, const std::stop_token&) -> Delivery {
    // Away for some calls, now and then; sometimes in the middle of a batch.
    if (++calls < away_until) return {.delivered = 0, .retry_after = std::chrono::milliseconds(1)};
    if (random() % 500 == 0) away_until = calls + random() % 100;
    const std::size_t count = random() % 50 == 0 ? random() % (batch.size() + 1) : batch.size();
    for (const Message& message : batch.first(count)) {
      const auto producer = static_cast<std::size_t>(message.content[0] - 'a');
      is_in_order = is_in_order &&
                    number_in(std::string_view(message.content).substr(1)) == next.at(producer)++;
    }
    delivered += count;
    return {.delivered = count};
  };
  std::uint64_t sent = 0;
  // It ends and begins anew while producers have more.
  for (int life = 0; life < 3; ++life) {
    const TestQueue queue(options, consumer);
    const std::uint64_t until = each * static_cast<std::uint64_t>(life + 1) / 3;
    std::vector<std::jthread> producers;
    for (std::size_t producer = 0; producer < kProducers; ++producer) {
      producers.emplace_back([&, producer] {
        const std::string prefix(1, static_cast<char>('a' + producer));
        for (std::uint64_t number = sent; number < until; ++number) {
          REQUIRE(queue.queue->enqueue({.content = prefix + std::to_string(number)}));
        }
      });
    }
    producers.clear();
    sent = until;
    CHECK(queue.figures().max_size <= options.size + 2 * 1024);
    if (life == 2) CHECK(queue.queue->wait_until_empty(kEternal));
    const Ending ending = queue.queue->shutdown();
    CHECK(ending.lost == 0);
    CHECK(delivered + ending.saved == kProducers * sent);
  }
  CHECK(is_in_order);
  CHECK(delivered == kProducers * each);
}
