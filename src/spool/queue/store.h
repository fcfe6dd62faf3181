// What a queue keeps its messages in: memory, or the disk. Calls of take() and settle() come one at
// a time; push() too, but beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/spool/message.h"

namespace quarry::spool {

/// Messages that were taken from a store, and are not settled yet.
struct Batch {
  std::vector<Message> messages;
  /// Of a disk queue: by what it knows the first of them; those of the others follow, unless
  /// `tickets` has them all.
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
  /// Puts MESSAGES at the end, moving them. Returns how many, from the first on; less than all only
  /// with *error set.
  virtual std::size_t push(std::span<Message> messages, base::Error* error) = 0;
  /// The first messages, MOST at most; none where there are none.
  virtual Batch take(std::size_t max) = 0;
  /// The first DELIVERED of BATCH are done with; the others are the first ones again.
  virtual void settle(Batch batch, std::size_t delivered) = 0;
  /// Messages that take() would give.
  virtual std::uint64_t waiting() const = 0;
};

}  // namespace quarry::spool
