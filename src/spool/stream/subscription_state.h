// The state of a subscription: its read position, and each message that is taken and not settled.
// Only events change the state. Events are journaled, so a new process that applies them gets the
// same state. This code does not use I/O or a clock.
//
//   0 ──── settled, except open messages ──── read ──── never taken ──── end of the stream
//
// An open message is either in flight (a consumer has it) or waits until it is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "quarry/spool/subscription.h"
#include "segments/segment_format.h"

namespace quarry::spool {

struct OpenMessage {
  Position at;  // position of the message, or an earlier position
  std::uint32_t attempts = 0;
  bool is_in_flight = false;
  std::int64_t due = 0;    // milliseconds since 1970
  std::int64_t delay = 0;  // length of the whole delay in milliseconds
  static auto fields(auto& self) {
    return std::tie(self.at, self.attempts, self.is_in_flight, self.due, self.delay);
  }
};

// --- events; `sequence` is the message's sequence number --------------------------------------
//
// fields() returns the fields in the order in which they are stored.

/// The messages from FIRST up to AFTER are in flight for the first time. The messages between the
/// read position and FIRST are for other subscriptions, or were lost.
struct Taken {
  Position first;
  Position after;
  static auto fields(auto& self) { return std::tie(self.first, self.after); }
};
/// The message is in flight again, for another attempt.
struct TakenAgain {
  std::uint64_t sequence = 0;
  static auto fields(auto& self) { return std::tie(self.sequence); }
};
struct Done {
  std::uint64_t sequence = 0;
  static auto fields(auto& self) { return std::tie(self.sequence); }
};
struct Postponed {
  std::uint64_t sequence = 0;
  std::int64_t due = 0;
  std::int64_t delay = 0;
  std::int64_t time = 0;  // current time
  std::string error;
  static auto fields(auto& self) {
    return std::tie(self.sequence, self.due, self.delay, self.time, self.error);
  }
};
struct GivenUp {
  std::uint64_t sequence = 0;
  std::int64_t time = 0;
  std::string error;
  static auto fields(auto& self) { return std::tie(self.sequence, self.time, self.error); }
};
/// The message is not in flight any more. The attempt does not count.
struct Returned {
  std::uint64_t sequence = 0;
  static auto fields(auto& self) { return std::tie(self.sequence); }
};
/// The message has become unreadable.
struct Lost {
  std::uint64_t sequence = 0;
  static auto fields(auto& self) { return std::tie(self.sequence); }
};
/// The read position advances to TO, without messages to take. UNREADABLE messages were lost.
struct Passed {
  Position to;
  std::uint64_t unreadable = 0;
  static auto fields(auto& self) { return std::tie(self.to, self.unreadable); }
};

/// The message was not meant for this subscription.
struct Skipped {
  std::uint64_t sequence = 0;
  static auto fields(auto& self) { return std::tie(self.sequence); }
};

/// The index of an event is its kind in a journal, so new events have to be added at the end.
using Event =
    std::variant<Taken, TakenAgain, Done, Postponed, GivenUp, Returned, Lost, Passed, Skipped>;

class SubscriptionState {
 public:
  /// Creates a state without open messages. START is the read position.
  explicit SubscriptionState(Position start = {}) : read_(start) {}

  /// Applies EVENT. Events for messages that are not open are ignored.
  void apply(const Event& event);
  /// Marks all in-flight messages as returned, because the process that had taken them has exited.
  /// Returned messages are due immediately and keep their attempts.
  void return_all();
  void record_position(std::uint64_t sequence, Position at);

  /// Returns the position of the first message that was never taken.
  const Position& read() const { return read_; }
  const std::map<std::uint64_t, OpenMessage>& open() const { return open_; }
  bool is_in_flight(std::uint64_t sequence) const;
  std::size_t in_flight() const { return open_.size() - waiting_.size(); }
  std::size_t postponed() const { return waiting_.size(); }
  /// Returns the due time of the first waiting message. With IN_ORDER, only the first open message
  /// counts. Returns nullopt if no message is waiting.
  std::optional<std::int64_t> next_due(bool in_order) const;
  /// Returns up to MAX waiting messages that are due at TIME, in ascending order. With IN_ORDER,
  /// returns only consecutive messages that start with the first open message. If the remaining
  /// wait of a message is longer than the whole delay, the clock was set back. Such a message is
  /// also due.
  std::vector<std::uint64_t> due(std::int64_t time, std::size_t max, bool in_order) const;
  /// Returns the oldest segment that is still needed.
  std::uint64_t floor() const { return open_.empty() ? read_.segment : first_at().segment; }

  /// Returns the statistics of the subscription NAME in a stream that ends before END. Figures from
  /// other files are not included.
  SubscriptionStatistics statistics(std::string name, std::uint64_t end) const;

  /// Convert the state to bytes and back. decode() returns nullopt if BYTES are not a valid state.
  std::string encode() const;
  static std::optional<SubscriptionState> decode(std::string_view bytes);

 private:
  struct Change;  // applies an event
  using Open = std::map<std::uint64_t, OpenMessage>;
  const Position& first_at() const { return open_.begin()->second.at; }
  void set_waiting(Open::iterator message, std::int64_t due, std::int64_t delay);
  void set_in_flight(Open::iterator message);
  void close(Open::iterator message);
  void note_error(const std::string& error, std::int64_t time);

  static auto fields(auto& self) {
    return std::tie(self.read_, self.reserved_, self.delivered_, self.given_up_, self.unreadable_,
                    self.last_error_, self.last_error_at_);
  }

  Position read_;
  Open open_;
  std::set<std::pair<std::int64_t, std::uint64_t>> waiting_;  // (due, sequence), not in flight
  std::uint8_t reserved_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t given_up_ = 0;
  std::uint64_t unreadable_ = 0;
  std::string last_error_;
  std::int64_t last_error_at_ = 0;  // 0: no error so far
};

/// Convert EVENT to bytes and back. decode_event() returns nullopt if BYTES are not a valid event.
std::string encode(const Event& event);
std::optional<Event> decode_event(std::string_view bytes);

}  // namespace quarry::spool
