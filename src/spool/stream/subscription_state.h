// What a subscription knows: how far it has read, and each message that it has taken and not
// settled. Changed by events alone, which are what its journal holds, so that a new process that
// applies them again knows the same. No I/O, no clock.
//
//   0 ──── settled, but for the open ones ──── read ──── never taken ──── end of the stream
//
// An open message is in hand (a consumer has it), or it waits until it is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "quarry/spool/subscription.h"
#include "segments/segment_format.h"

namespace quarry::spool {

struct OpenMessage {
  Position at;  // of the message, or of one before it
  std::uint32_t attempts = 0;
  bool is_in_hand = false;
  std::int64_t due = 0;    // milliseconds since 1970
  std::int64_t delay = 0;  // milliseconds that it waits in all
};

// --- events; `sequence` is the message's -----------------------------------------------------

/// All messages from FIRST up to AFTER are in hand for the first time. Those between where reading
/// was and FIRST are not for this subscription, or were lost.
struct Taken {
  Position first;
  Position after;
};
/// In hand for one more time.
struct TakenAgain {
  std::uint64_t sequence;
};
struct Done {
  std::uint64_t sequence;
};
struct Postponed {
  std::uint64_t sequence;
  std::int64_t due;
  std::int64_t delay;
  std::int64_t time;  // now
  std::string error;
};
struct GivenUp {
  std::uint64_t sequence;
  std::int64_t time;
  std::string error;
};
/// No longer in hand; that it was did not count as an attempt.
struct Returned {
  std::uint64_t sequence;
};
/// It cannot be read any more.
struct Lost {
  std::uint64_t sequence;
};
/// Reading has come here, with nothing to take on the way. UNREADABLE of what was there was lost.
struct Passed {
  Position to;
  std::uint64_t unreadable;
};
struct Paused {
  bool is_paused;
};
/// Everything before TO is forgotten.
struct Purged {
  Position to;
};

using Event = std::variant<Taken, TakenAgain, Done, Postponed, GivenUp, Returned, Lost, Passed,
                           Paused, Purged>;

class SubscriptionState {
 public:
  /// Begins at START with nothing open.
  explicit SubscriptionState(Position start = {}) : read_(start) {}

  /// EVENT happened. One of a message that is not open changes nothing.
  void apply(const Event& event);
  /// The process that had messages in hand is gone: they are due, and keep their attempts.
  void nobody_has_any();
  /// The message SEQUENCE, which is open, is at AT for sure.
  void record_position(std::uint64_t sequence, Position at);

  /// The first message that was never taken.
  const Position& read() const { return read_; }
  const std::map<std::uint64_t, OpenMessage>& open() const { return open_; }
  /// Whether SEQUENCE is in hand.
  bool is_in_hand(std::uint64_t sequence) const;
  std::size_t in_flight() const { return open_.size() - waiting_.size(); }
  std::size_t postponed() const { return waiting_.size(); }
  /// When the first of those that wait is due; IN_ORDER: the first open one. Nothing: there is none,
  /// or it is in hand.
  std::optional<std::int64_t> next_due(bool in_order) const;
  /// Those that wait and are due at TIME, MOST at most, ascending. IN_ORDER: from the first open
  /// message on, as far as they are. One that is due later than its whole delay from now is due: the
  /// clock was put back.
  std::vector<std::uint64_t> due(std::int64_t time, std::size_t max, bool in_order) const;
  /// The oldest segment that is needed.
  std::uint64_t floor() const { return open_.empty() ? read_.segment : first_at().segment; }

  bool is_paused() const { return is_paused_; }
  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t given_up() const { return given_up_; }
  std::uint64_t unreadable() const { return unreadable_; }
  const std::string& last_error() const { return last_error_; }
  std::int64_t last_error_at() const { return last_error_at_; }  // 0: there was none

  /// All of it as bytes, and back. Nothing where BYTES are no state.
  std::string encode() const;
  static std::optional<SubscriptionState> decode(std::string_view bytes);

 private:
  struct Change;  // what each event does
  using Open = std::map<std::uint64_t, OpenMessage>;
  const Position& first_at() const { return open_.begin()->second.at; }
  void set_waiting(Open::iterator message, std::int64_t due, std::int64_t delay);
  void set_in_hand(Open::iterator message);
  void close(Open::iterator message);
  void note_error(const std::string& error, std::int64_t time);

  Position read_;
  Open open_;
  std::set<std::pair<std::int64_t, std::uint64_t>> waiting_;  // due, sequence: not in hand
  bool is_paused_ = false;
  std::uint64_t delivered_ = 0;
  std::uint64_t given_up_ = 0;
  std::uint64_t unreadable_ = 0;
  std::string last_error_;
  std::int64_t last_error_at_ = 0;
};

/// What can be told of STATE, of the subscription NAME, when the stream ends before END.
SubscriptionStatistics statistics_of(std::string name, const SubscriptionState& state,
                                     std::uint64_t end);

/// EVENT as bytes, and back. Nothing where BYTES are no event.
std::string encode(const Event& event);
std::optional<Event> decode_event(std::string_view bytes);

}  // namespace quarry::spool
