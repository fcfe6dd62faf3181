// The storage of a queue's messages: memory or disk. take() and settle() are never called
// concurrently. push() is never called concurrently with itself, but it can be called concurrently
// with take() and settle().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/spool/message.h"

namespace quarry::spool {

/// Limit on the bytes of a batch. The last message can exceed the limit.
inline constexpr std::size_t kMaxAtOnce = std::size_t{8} << 20;

/// Messages that were taken from a store and are not settled.
struct Batch {
  std::vector<Message> messages;
  /// For a disk queue: ticket of the first message. The other messages have consecutive tickets,
  /// unless `tickets` lists all tickets.
  std::uint64_t first_ticket = 0;
  std::vector<std::uint64_t> tickets;

  bool empty() const { return messages.empty(); }
  std::uint64_t ticket(std::size_t i) const {
    return tickets.empty() ? first_ticket + i : tickets[i];
  }
};

class Store {
 public:
  virtual ~Store() = default;
  /// Moves MESSAGES to the end of the store, in order. Returns the number of stored messages. If
  /// some messages were not stored, sets *error.
  virtual std::size_t push(std::span<Message> messages, Error* error) = 0;
  /// Returns the first messages, at most MAX and kMaxAtOnce bytes. The result can be empty.
  virtual Batch take(std::size_t max) = 0;
  /// Settles the first DELIVERED messages of BATCH. The remaining messages return to the front.
  virtual void settle(Batch batch, std::size_t delivered) = 0;
  /// Returns the number of messages in the store that take() can return.
  virtual std::uint64_t waiting() const = 0;
  /// Returns the size of these messages in memory in bytes.
  virtual std::uint64_t bytes_in_memory() const { return 0; }
};

/// Messages in memory. Replaces both of rsyslog's stores, array and linked list. A deque grows and
/// shrinks with its content like a list, but does not allocate memory for each message.
class MemoryStore final : public Store {
 public:
  std::size_t push(std::span<Message> messages, Error* /*error*/) override {
    for (Message& each : messages) bytes_ += each.content.size();
    std::ranges::move(messages, std::back_inserter(messages_));
    return messages.size();
  }

  Batch take(std::size_t max) override {
    Batch batch;
    auto end = messages_.begin();
    std::size_t bytes = 0;
    for (; max > 0 && end != messages_.end() && bytes < kMaxAtOnce; ++end, --max) {
      bytes += end->content.size();
    }
    bytes_ -= bytes;
    batch.messages.reserve(static_cast<std::size_t>(end - messages_.begin()));
    std::move(messages_.begin(), end, std::back_inserter(batch.messages));
    messages_.erase(messages_.begin(), end);
    return batch;
  }

  void settle(Batch batch, std::size_t delivered) override {
    const auto rest = batch.messages.begin() + static_cast<std::ptrdiff_t>(delivered);
    for (auto at = rest; at != batch.messages.end(); ++at) bytes_ += at->content.size();
    messages_.insert(messages_.begin(), std::make_move_iterator(rest),
                     std::make_move_iterator(batch.messages.end()));
  }

  std::uint64_t waiting() const override { return messages_.size(); }
  std::uint64_t bytes_in_memory() const override { return bytes_; }

 private:
  std::deque<Message> messages_;
  std::uint64_t bytes_ = 0;
};

}  // namespace quarry::spool
