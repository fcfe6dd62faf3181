#include "portions.h"

namespace quarry::backoffice {
namespace {

// Per request, because the receiver holds requests in memory. A longer message gets a request of
// its own.
constexpr std::size_t kMaxMessages = 500;
constexpr std::size_t kMaxBytes = spool::kMaxHandOver / 8;

/// How many of MESSAGES to send in one request; at least one.
std::size_t portion_of(std::span<const spool::NewMessage> messages) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const spool::NewMessage& message : messages) {
    bytes += message.content.size() + message.key.size();
    if (count == kMaxMessages || (count > 0 && bytes > kMaxBytes)) break;
    ++count;
  }
  return count;
}

}  // namespace

base::Result<void> hand_over_all(const spool::HandOver& courier,
                                 std::span<const spool::NewMessage> messages) {
  while (!messages.empty()) {
    const std::size_t count = portion_of(messages);
    QUARRY_TRY(courier.hand_over(messages.first(count)));
    messages = messages.subspan(count);
  }
  return {};
}

}  // namespace quarry::backoffice
