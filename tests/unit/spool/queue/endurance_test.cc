// Sends many messages through a small queue, whose consumer is sometimes down.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "queue_world.h"

using namespace quarry::spool;

namespace {

constexpr std::size_t kProducers = 4;

/// Returns $QUARRY_TEST_MESSAGES (default: 100000).
std::uint64_t messages_wanted() {
  const char* const wanted = std::getenv("QUARRY_TEST_MESSAGES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 100000;
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
    // The consumer is down for random periods, and sometimes accepts only a part of a batch.
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
  // Restarts the queue twice before all messages are sent.
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

namespace {

/// Returns a random valid configuration with unusual values.
QueueOptions any_options(std::mt19937& random, const TemporaryFolder& folder) {
  const auto one_of = [&random](std::initializer_list<std::size_t> values) {
    return values.begin()[random() % values.size()];
  };
  QueueOptions options;
  options.type = random() % 3 == 0 ? QueueType::kDisk : QueueType::kMemory;
  options.spool_directory = folder.path();
  options.filename = "q";
  options.size = one_of({1, 2, 10, 300});
  options.high_watermark = one_of({1, options.size, options.size / 2 + 1});
  options.low_watermark = one_of({0, *options.high_watermark - 1});
  options.full_delay_mark = options.size;
  options.max_file_size = one_of({1024, 5000});
  options.max_disk_space = one_of({0, 20000});
  options.checkpoint_interval = one_of({0, 1, 7});
  options.worker_threads = one_of({2, 3, 8});
  options.worker_thread_minimum_messages = one_of({1, 5});
  options.dequeue_batch_size = one_of({1, 3, 100});
  options.timeout_worker_thread_shutdown = milliseconds(one_of({0, 1, 60000}));
  options.save_on_shutdown = true;
  options.timeout_enqueue = options.timeout_shutdown = options.timeout_action_completion = kEternal;
  return options;
}

/// Counts how often several threads together deliver each message. Returns some messages to the
/// queue at random.
class CountingConsumer {
 public:
  CountingConsumer(std::size_t messages, unsigned seed) : counts_(messages), random_(seed) {}

  Delivery operator()(std::span<const Message> batch) {
    const std::scoped_lock lock(mutex_);
    const std::size_t count = random_() % 4 == 0 ? random_() % (batch.size() + 1) : batch.size();
    for (const Message& message : batch.first(count)) ++counts_.at(number_in(message.content));
    return {.delivered = count, .retry_after = std::chrono::milliseconds(random_() % 2)};
  }
  std::size_t lost() const { return static_cast<std::size_t>(std::ranges::count(counts_, 0U)); }
  /// Returns the number of messages that were delivered more than once.
  std::size_t repeated() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(counts_, [](std::uint32_t count) { return count > 1; }));
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint32_t> counts_;
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("with any marks and several workers, each message is delivered once, across restarts") {
  const std::uint64_t rounds = std::max<std::uint64_t>(messages_wanted() / 50000, 1);
  constexpr std::size_t kLives = 3;
  constexpr std::size_t kEach = 100;
  for (unsigned seed = 1; seed <= rounds; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const TemporaryFolder folder;
    const QueueOptions options = any_options(random, folder);
    const auto counting = std::make_shared<CountingConsumer>(kLives * kProducers * kEach, seed);
    const Consumer consumer = [counting](std::span<const Message> batch, const std::stop_token&) {
      return (*counting)(batch);
    };
    for (std::size_t life = 0; life < kLives; ++life) {
      const TestQueue queue(options, consumer);
      std::vector<std::jthread> producers;
      for (std::size_t producer = 0; producer < kProducers; ++producer) {
        producers.emplace_back([&, first = (life * kProducers + producer) * kEach] {
          for (std::size_t number = first; number < first + kEach; ++number) {
            // The disk limit can be reached. The producer then tries again.
            while (!queue.queue->enqueue({.content = std::to_string(number)})) {
              std::this_thread::yield();
            }
          }
        });
      }
      producers.clear();
      if (life + 1 == kLives) CHECK(queue.queue->wait_until_empty(kEternal));
      CHECK(queue.queue->shutdown().lost == 0);
    }
    CHECK(counting->lost() == 0);
    CHECK(counting->repeated() == 0);
  }
}
