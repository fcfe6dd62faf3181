// Gives quarry-replica a stream that breaks one promise, which tests/cluster/check must notice. $QUARRY_FAULT selects it:
//
//   acknowledges-early   publish() succeeds although the servers have not acknowledged the messages
//   reorders             next() returns messages in another order on each host
//   does-not-compare     publish_after() and put() do not compare the sequence or the revision, and get() does not find
//                        leases, so several hosts hold the same one
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "open_stream.h"
#include "quarry/replica/stream.h"

namespace quarry::app {
namespace {

using replica::Bucket;
using replica::KeyValue;
using replica::NewStreamMessage;
using replica::StreamMessage;
using replica::StreamRange;
using std::chrono::milliseconds;

/// Passes all calls on to another stream.
class StreamWrapper : public replica::Stream {
 public:
  explicit StreamWrapper(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  bool is_connected() const override { return stream_->is_connected(); }
  Result<StreamRange> range() override { return stream_->range(); }
  std::size_t max_content() const override { return stream_->max_content(); }
  Result<std::uint64_t> publish(std::span<const NewStreamMessage> messages,
                                milliseconds time) override {
    return stream_->publish(messages, time);
  }
  Result<std::uint64_t> publish_after(std::uint64_t expected,
                                      std::span<const NewStreamMessage> messages,
                                      milliseconds time) override {
    return stream_->publish_after(expected, messages, time);
  }
  void serve(Answer answer, Listener listener) override {
    stream_->serve(std::move(answer), std::move(listener));
  }
  Result<std::string> request(const std::string& host, std::string_view request,
                              milliseconds time) override {
    return stream_->request(host, request, time);
  }
  void announce(std::string_view text) override { stream_->announce(text); }
  Result<std::optional<KeyValue>> get(Bucket bucket, const std::string& key) override {
    return stream_->get(bucket, key);
  }
  Result<std::optional<std::uint64_t>> put(Bucket bucket, const std::string& key,
                                           std::string_view value,
                                           std::uint64_t expected) override {
    return stream_->put(bucket, key, value, expected);
  }
  Result<void> erase(Bucket bucket, const std::string& key, std::uint64_t revision) override {
    return stream_->erase(bucket, key, revision);
  }
  Result<void> seek(std::uint64_t sequence) override { return stream_->seek(sequence); }
  Result<std::optional<StreamMessage>> next(milliseconds time) override {
    return stream_->next(time);
  }

 private:
  std::unique_ptr<Stream> stream_;
};

class EarlyAcknowledgement final : public StreamWrapper {
 public:
  using StreamWrapper::StreamWrapper;

  Result<std::uint64_t> publish(std::span<const NewStreamMessage> messages,
                                milliseconds time) override {
    return StreamWrapper::publish(messages, std::min(time, milliseconds(200))).value_or(0);
  }
  // quarry-replica does not publish while it cannot get the range.
  Result<StreamRange> range() override {
    const auto range = StreamWrapper::range();
    const std::lock_guard lock(mutex_);
    if (range) last_range_ = *range;
    return last_range_;
  }

 private:
  std::mutex mutex_;
  StreamRange last_range_;
};

/// Collects messages for some seconds, and then returns them in the opposite order.
class Reordering final : public StreamWrapper {
 public:
  using StreamWrapper::StreamWrapper;

  Result<void> seek(std::uint64_t sequence) override {
    collected_.clear();
    return StreamWrapper::seek(sequence);
  }
  Result<std::optional<StreamMessage>> next(milliseconds time) override {
    if (collected_.empty()) {
      QUARRY_TRY(collect(time));
    }
    if (collected_.empty()) return std::nullopt;
    StreamMessage message = std::move(collected_.front());
    collected_.pop_front();
    return message;
  }

 private:
  Result<void> collect(milliseconds time) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + milliseconds(std::uniform_int_distribution(0, 8000)(random_));
    do {
      QUARRY_TRY_ASSIGN(auto message, StreamWrapper::next(time));
      if (message) collected_.push_back(*std::move(message));
    } while (!collected_.empty() && Clock::now() < end);
    // The sequences must still increase.
    const std::size_t count = collected_.size();
    for (std::size_t i = 0; i < count / 2; ++i) {
      std::swap(collected_[i].project, collected_[count - 1 - i].project);
      std::swap(collected_[i].content, collected_[count - 1 - i].content);
    }
    return {};
  }

  std::deque<StreamMessage> collected_;
  std::random_device random_;
};

class MissingComparison final : public StreamWrapper {
 public:
  using StreamWrapper::StreamWrapper;

  Result<std::uint64_t> publish_after(std::uint64_t, std::span<const NewStreamMessage> messages,
                                      milliseconds time) override {
    // Gives other hosts time to publish.
    std::this_thread::sleep_for(milliseconds(500));
    return publish(messages, time);
  }
  Result<std::optional<KeyValue>> get(Bucket bucket, const std::string& key) override {
    if (bucket == Bucket::kLeases) return std::nullopt;
    return StreamWrapper::get(bucket, key);
  }
  Result<std::optional<std::uint64_t>> put(Bucket bucket, const std::string& key,
                                           std::string_view value, std::uint64_t) override {
    QUARRY_TRY_ASSIGN(const auto present, StreamWrapper::get(bucket, key));
    return StreamWrapper::put(bucket, key, value, present ? present->revision : 0);
  }
};

}  // namespace

Result<std::unique_ptr<replica::Stream>> open_stream(const replica::StreamOptions& options) {
  QUARRY_TRY_ASSIGN(auto stream, replica::Stream::open(options));
  const char* fault = std::getenv("QUARRY_FAULT");
  if (fault == std::string_view("acknowledges-early")) {
    return std::make_unique<EarlyAcknowledgement>(std::move(stream));
  }
  if (fault == std::string_view("reorders")) {
    return std::make_unique<Reordering>(std::move(stream));
  }
  if (fault == std::string_view("does-not-compare")) {
    return std::make_unique<MissingComparison>(std::move(stream));
  }
  return fail(ErrorCode::kInvalid, "unknown QUARRY_FAULT");
}

}  // namespace quarry::app
