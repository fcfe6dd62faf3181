// Messages in memory.
//
// Replaces both of rsyslog's stores, array and linked list: a deque grows and shrinks with its
// content like a list, without an allocation per message.
#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "store.h"

namespace quarry::spool {

class MemoryStore final : public Store {
 public:
  std::size_t push(std::span<Message> messages, base::Error* /*error*/) override {
    std::ranges::move(messages, std::back_inserter(messages_));
    return messages.size();
  }

  Batch take(std::size_t max) override {
    Batch batch;
    const auto end =
        messages_.begin() + static_cast<std::ptrdiff_t>(std::min(max, messages_.size()));
    batch.messages.reserve(static_cast<std::size_t>(end - messages_.begin()));
    std::move(messages_.begin(), end, std::back_inserter(batch.messages));
    messages_.erase(messages_.begin(), end);
    return batch;
  }

  void settle(Batch batch, std::size_t delivered) override {
    const auto rest = batch.messages.begin() + static_cast<std::ptrdiff_t>(delivered);
    messages_.insert(messages_.begin(), std::make_move_iterator(rest),
                     std::make_move_iterator(batch.messages.end()));
  }

  std::uint64_t waiting() const override { return messages_.size(); }

 private:
  std::deque<Message> messages_;
};

}  // namespace quarry::spool
