// The queue in memory by itself, beside what anybody would write in its place: a std::deque, a
// mutex and two condition variables. Both hold as many messages, have one thread that takes them
// and does nothing, and as many that put them in as fast as they can. They take turns; what is
// printed, as JSON, are medians over the runs.
//
//   spool_throughput [--runs N] [--messages N] [--length BYTES] [--size N]
//
//   latency      nanoseconds that one call of enqueue takes: half of the calls, and 99 of 100, take
//                no longer
//   throughput   messages a second from the first put in to the last taken out; "batched" puts
//                kBatch in at once, as somebody does that reads them from a stream
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quarry/spool/queue.h"
#include "spool_main.h"

namespace {

namespace spool = quarry::spool;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 64;

struct Load {
  std::size_t runs = 5;
  std::size_t messages = 1'000'000;  // of a run
  std::size_t length = 127;
  std::size_t size = 10'000;
};

/// A queue with its consumer. Ends when it goes.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual void enqueue(spool::Message message) = 0;
  virtual void enqueue(std::span<spool::Message> messages) = 0;
  /// Returns when everything was taken out.
  virtual void wait() = 0;
};

/// What anybody would write.
class GuardedDeque final : public Subject {
 public:
  explicit GuardedDeque(const Load& load)
      : size_(load.size), consumer_([this, count = load.messages] { consume(count); }) {}

  void enqueue(spool::Message message) override {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [this] { return messages_.size() < size_; });
    messages_.push_back(std::move(message));
    lock.unlock();
    not_empty_.notify_one();
  }

  void enqueue(std::span<spool::Message> messages) override {
    for (spool::Message& message : messages) enqueue(std::move(message));
  }

  void wait() override { consumer_.join(); }

 private:
  void consume(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::unique_lock lock(mutex_);
      not_empty_.wait(lock, [this] { return !messages_.empty(); });
      const spool::Message message = std::move(messages_.front());
      messages_.pop_front();
      lock.unlock();
      not_full_.notify_one();
    }
  }

  std::size_t size_;
  std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::deque<spool::Message> messages_;
  std::jthread consumer_;
};

class Spool final : public Subject {
 public:
  explicit Spool(const Load& load) : left_(load.messages) {
    spool::QueueOptions options;
    options.size = load.size;
    options.timeout_enqueue = spool::kEternal;
    auto started = spool::Queue::start(
        options,
        [this](std::span<const spool::Message> batch, const std::stop_token&) {
          left_ -= batch.size();
          if (left_ == 0) done_.count_down();
          return spool::Delivery{.delivered = batch.size()};
        },
        [](const std::string& line) { fmt::print(stderr, "spool_throughput: {}\n", line); });
    if (!started) throw std::runtime_error(started.error().message);
    queue_ = std::move(*started);
  }

  void enqueue(spool::Message message) override {
    if (const auto taken = queue_->enqueue(std::move(message)); !taken)
      throw std::runtime_error(taken.error().message);
  }

  void enqueue(std::span<spool::Message> messages) override {
    quarry::base::Error error;
    if (queue_->enqueue(messages, spool::Delay::kNone, &error) < messages.size())
      throw std::runtime_error(error.message);
  }

  void wait() override { done_.wait(); }

 private:
  std::size_t left_;  // the worker's
  std::latch done_{1};
  std::unique_ptr<spool::Queue> queue_;
};

/// What one producer does: puts COUNT messages of LENGTH bytes into the queue.
using Producer = std::function<void(Subject&, std::size_t count, std::size_t length)>;

void produce(Subject& queue, std::size_t count, std::size_t length) {
  for (std::size_t i = 0; i < count; ++i) queue.enqueue({.content = std::string(length, 'x')});
}

void produce_batches(Subject& queue, std::size_t count, std::size_t length) {
  std::vector<spool::Message> batch;
  while (count > 0) {
    batch.clear();
    for (std::size_t i = std::min(count, kBatch); i > 0; --i)
      batch.push_back({.content = std::string(length, 'x')});
    queue.enqueue(std::span(batch));
    count -= batch.size();
  }
}

/// Seconds from the first message put in to the last one taken out.
double run_once(Subject& queue, const Load& load, std::size_t producers, const Producer& producer) {
  std::latch ready(static_cast<std::ptrdiff_t>(producers) + 1);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < producers; ++i) {
    const std::size_t share = load.messages / producers + (i < load.messages % producers ? 1 : 0);
    threads.emplace_back([&, share] {
      ready.arrive_and_wait();
      producer(queue, share, load.length);
    });
  }
  ready.arrive_and_wait();
  const auto began = Clock::now();
  queue.wait();
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// The COUNT-th of 1000 of VALUES, in order.
template <typename Value>
Value quantile(std::vector<Value> values, std::size_t count) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() * count / 1000);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

struct Latency {
  std::uint64_t p50 = 0;
  std::uint64_t p99 = 0;
};

Latency measure_latency(Subject& queue, const Load& load, std::size_t producers) {
  std::vector<std::uint64_t> all;
  all.reserve(load.messages);
  std::mutex mutex;
  run_once(queue, load, producers, [&](Subject& to, std::size_t count, std::size_t length) {
    std::vector<std::uint64_t> mine;
    mine.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      spool::Message message{.content = std::string(length, 'x')};
      const auto began = Clock::now();
      to.enqueue(std::move(message));
      mine.push_back(static_cast<std::uint64_t>((Clock::now() - began).count()));
    }
    const std::scoped_lock lock(mutex);
    all.insert(all.end(), mine.begin(), mine.end());
  });
  return {.p50 = quantile(all, 500), .p99 = quantile(all, 990)};
}

std::unique_ptr<Subject> make(const std::string& kind, const Load& load) {
  if (kind == "deque") return std::make_unique<GuardedDeque>(load);
  return std::make_unique<Spool>(load);
}

nlohmann::json measure(const Load& load) {
  std::map<std::string, std::vector<std::uint64_t>> values;
  const auto note = [&](const std::string& name, const Latency& latency) {
    values[name + "-p50"].push_back(latency.p50);
    values[name + "-p99"].push_back(latency.p99);
  };
  const auto per_second = [&](double seconds) {
    return static_cast<std::uint64_t>(static_cast<double>(load.messages) / seconds);
  };
  for (std::size_t run = 0; run < load.runs; ++run) {
    for (const std::size_t producers : {1U, 8U}) {
      for (const std::string kind : {"deque", "quarry"}) {
        const std::string name = fmt::format("{}-{}", kind, producers);
        note("latency-" + name, measure_latency(*make(kind, load), load, producers));
        values["throughput-" + name].push_back(
            per_second(run_once(*make(kind, load), load, producers, produce)));
      }
      values[fmt::format("throughput-quarry-{}-batched", producers)].push_back(
          per_second(run_once(*make("quarry", load), load, producers, produce_batches)));
    }
  }
  nlohmann::json medians;
  for (const auto& [name, all] : values) medians[name] = quantile(all, 500);
  return medians;
}

int run(int argc, char** argv) {
  Load load;
  CLI::App program("Measures the queue in memory beside a std::deque with a mutex.");
  program.add_option("--runs", load.runs, "how often")->check(CLI::Range(1, 1000));
  program.add_option("--messages", load.messages, "of each run")->check(CLI::Range(8, 100'000'000));
  program.add_option("--length", load.length, "of each message")->check(CLI::Range(0, 1'000'000));
  program.add_option("--size", load.size, "messages that a queue holds")
      ->check(CLI::Range(2, 10'000'000));
  CLI11_PARSE(program, argc, argv);
  fmt::print("{}\n", measure(load).dump(2));
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  return quarry::run_main("spool_throughput", argc, argv, run);
}
