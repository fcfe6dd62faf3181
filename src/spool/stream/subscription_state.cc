#include "subscription_state.h"

#include <algorithm>

#include "segments/little_endian.h"

namespace quarry::spool {

void SubscriptionState::set_waiting(Open::iterator message, std::int64_t due, std::int64_t delay) {
  OpenMessage& one = message->second;
  if (!one.is_in_flight) waiting_.erase({one.due, message->first});
  one.is_in_flight = false;
  one.due = due;
  one.delay = delay;
  waiting_.emplace(due, message->first);
}

void SubscriptionState::set_in_hand(Open::iterator message) {
  waiting_.erase({message->second.due, message->first});
  message->second.is_in_flight = true;
}

void SubscriptionState::close(Open::iterator message) {
  waiting_.erase({message->second.due, message->first});
  open_.erase(message);
}

void SubscriptionState::note_error(const std::string& error, std::int64_t time) {
  last_error_ = error;
  last_error_at_ = time;
}

struct SubscriptionState::Change {
  SubscriptionState& state;

  /// Calls WHAT with the message SEQUENCE if it is open.
  template <typename What>
  void with(std::uint64_t sequence, What&& what) const {
    const auto found = state.open_.find(sequence);
    if (found != state.open_.end()) what(found);
  }

  void operator()(const Taken& event) const {
    // Guard against an invalid journal: never more open messages than that, and none twice.
    const std::size_t room = kMaxWindow - state.open_.size();
    const std::uint64_t after = std::min(event.after.sequence, event.first.sequence + room);
    for (std::uint64_t one = event.first.sequence; one < after; ++one) {
      with(one, [this](Open::iterator message) { state.close(message); });
      state.open_[one] = {
          .at = event.first, .attempts = 1, .is_in_flight = true, .due = 0, .delay = 0};
    }
    state.read_ = event.after;
  }
  void operator()(const TakenAgain& event) const {
    with(event.sequence, [this](Open::iterator message) {
      ++message->second.attempts;
      state.set_in_hand(message);
    });
  }
  void operator()(const Done& event) const {
    with(event.sequence, [this](Open::iterator message) {
      state.close(message);
      ++state.delivered_;
    });
  }
  void operator()(const Postponed& event) const {
    with(event.sequence, [&](Open::iterator message) {
      state.set_waiting(message, event.due, event.delay);
      state.note_error(event.error, event.time);
    });
  }
  void operator()(const GivenUp& event) const {
    with(event.sequence, [&](Open::iterator message) {
      state.close(message);
      ++state.given_up_;
      state.note_error(event.error, event.time);
    });
  }
  void operator()(const Returned& event) const {
    with(event.sequence, [this](Open::iterator message) {
      if (message->second.attempts > 0) --message->second.attempts;
      state.set_waiting(message, 0, 0);
    });
  }
  void operator()(const Lost& event) const {
    with(event.sequence, [this](Open::iterator message) {
      state.close(message);
      ++state.unreadable_;
    });
  }
  void operator()(const Passed& event) const {
    state.read_ = event.to;
    state.unreadable_ += event.unreadable;
  }
  void operator()(const Paused& event) const { state.is_paused_ = event.is_paused; }
  void operator()(const Purged& event) const {
    state.open_.clear();
    state.waiting_.clear();
    state.read_ = event.to;
  }
};

void SubscriptionState::apply(const Event& event) {
  std::visit(Change{*this}, event);
}

void SubscriptionState::return_all() {
  for (auto one = open_.begin(); one != open_.end(); ++one) {
    if (one->second.is_in_flight) set_waiting(one, 0, 0);
  }
}

void SubscriptionState::record_position(std::uint64_t sequence, Position at) {
  const auto found = open_.find(sequence);
  if (found != open_.end()) found->second.at = at;
}

bool SubscriptionState::is_in_flight(std::uint64_t sequence) const {
  const auto found = open_.find(sequence);
  return found != open_.end() && found->second.is_in_flight;
}

std::optional<std::int64_t> SubscriptionState::next_due(bool in_order) const {
  if (waiting_.empty()) return std::nullopt;
  if (in_order) {
    const OpenMessage& first = open_.begin()->second;
    return first.is_in_flight ? std::nullopt : std::optional(first.due);
  }
  return waiting_.begin()->first;
}

std::vector<std::uint64_t> SubscriptionState::due(std::int64_t time, std::size_t max,
                                                  bool in_order) const {
  const auto is_due = [time](const OpenMessage& one) {
    return !one.is_in_flight && (one.due <= time || one.due - time > one.delay);
  };
  std::vector<std::uint64_t> found;
  if (in_order) {
    for (const auto& [sequence, one] : open_) {
      if (found.size() == max || !is_due(one)) break;
      found.push_back(sequence);
    }
    return found;
  }
  for (const auto& [when, sequence] : waiting_) {
    if (found.size() == max || !is_due(open_.at(sequence))) break;
    found.push_back(sequence);
  }
  std::ranges::sort(found);
  return found;
}

SubscriptionStatistics statistics_of(std::string name, const SubscriptionState& state,
                                     std::uint64_t end) {
  const std::uint64_t read = state.read().sequence;
  SubscriptionStatistics figures;
  figures.name = std::move(name);
  figures.waiting = state.open().size() + (end > read ? end - read : 0);
  figures.in_flight = state.in_flight();
  figures.postponed = state.postponed();
  if (!state.open().empty()) figures.head_attempts = state.open().begin()->second.attempts;
  figures.last_error = state.last_error();
  if (state.last_error_at() != 0) figures.last_error_at = base::UnixMillis{state.last_error_at()};
  figures.delivered = state.delivered();
  figures.given_up = state.given_up();
  figures.unreadable = state.unreadable();
  figures.is_paused = state.is_paused();
  return figures;
}

// --- bytes ------------------------------------------------------------------------------------

namespace {

void append(std::string& to, const Position& position) {
  append_number(to, position.segment);
  append_number(to, position.offset);
  append_number(to, position.sequence);
}

Position take_position(FieldReader& fields) {
  Position position;
  position.segment = fields.number<std::uint64_t>();
  position.offset = fields.number<std::uint64_t>();
  position.sequence = fields.number<std::uint64_t>();
  return position;
}

void append_time(std::string& to, std::int64_t time) {
  append_number(to, static_cast<std::uint64_t>(time));
}

std::int64_t take_time(FieldReader& fields) {
  return static_cast<std::int64_t>(fields.number<std::uint64_t>());
}

void append_error(std::string& to, std::string_view error) {
  append_text<std::uint16_t>(to, error);
}

std::string take_error(FieldReader& fields) {
  return std::string(fields.text<std::uint16_t>());
}

/// Encodes events; the first byte is the kind.
struct EventEncoder {
  std::string& to;

  void operator()(const Taken& event) const {
    append(to, event.first);
    append(to, event.after);
  }
  void operator()(const TakenAgain& event) const { append_number(to, event.sequence); }
  void operator()(const Done& event) const { append_number(to, event.sequence); }
  void operator()(const Postponed& event) const {
    append_number(to, event.sequence);
    append_time(to, event.due);
    append_time(to, event.delay);
    append_time(to, event.time);
    append_error(to, event.error);
  }
  void operator()(const GivenUp& event) const {
    append_number(to, event.sequence);
    append_time(to, event.time);
    append_error(to, event.error);
  }
  void operator()(const Returned& event) const { append_number(to, event.sequence); }
  void operator()(const Lost& event) const { append_number(to, event.sequence); }
  void operator()(const Passed& event) const {
    append(to, event.to);
    append_number(to, event.unreadable);
  }
  void operator()(const Paused& event) const {
    append_number(to, static_cast<std::uint8_t>(event.is_paused));
  }
  void operator()(const Purged& event) const { append(to, event.to); }
};

std::optional<Taken> take_taken(FieldReader& fields) {
  Taken event{};
  event.first = take_position(fields);
  event.after = take_position(fields);
  // Check before allocating memory for each message.
  const bool is_good = event.first.sequence <= event.after.sequence &&
                       event.after.sequence - event.first.sequence <= kMaxWindow;
  return is_good ? std::optional(event) : std::nullopt;
}

Postponed take_postponed(FieldReader& fields) {
  Postponed event{};
  event.sequence = fields.number<std::uint64_t>();
  event.due = take_time(fields);
  event.delay = take_time(fields);
  event.time = take_time(fields);
  event.error = take_error(fields);
  return event;
}

GivenUp take_given_up(FieldReader& fields) {
  GivenUp event{};
  event.sequence = fields.number<std::uint64_t>();
  event.time = take_time(fields);
  event.error = take_error(fields);
  return event;
}

Passed take_passed(FieldReader& fields) {
  const Position to = take_position(fields);
  return {.to = to, .unreadable = fields.number<std::uint64_t>()};
}

/// The kind is the index in Event, so new kinds go to the end.
std::optional<Event> take_event(std::uint8_t kind, FieldReader& fields) {
  switch (kind) {
    case 0:
      return take_taken(fields);
    case 1:
      return TakenAgain{fields.number<std::uint64_t>()};
    case 2:
      return Done{fields.number<std::uint64_t>()};
    case 3:
      return take_postponed(fields);
    case 4:
      return take_given_up(fields);
    case 5:
      return Returned{fields.number<std::uint64_t>()};
    case 6:
      return Lost{fields.number<std::uint64_t>()};
    case 7:
      return take_passed(fields);
    case 8:
      return Paused{fields.number<std::uint8_t>() != 0};
    case 9:
      return Purged{take_position(fields)};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string encode(const Event& event) {
  std::string to;
  append_number(to, static_cast<std::uint8_t>(event.index()));
  std::visit(EventEncoder{to}, event);
  return to;
}

std::optional<Event> decode_event(std::string_view bytes) {
  FieldReader fields(bytes);
  auto event = take_event(fields.number<std::uint8_t>(), fields);
  return fields.is_whole() ? event : std::nullopt;
}

std::string SubscriptionState::encode() const {
  std::string to;
  append(to, read_);
  append_number(to, static_cast<std::uint8_t>(is_paused_));
  append_number(to, delivered_);
  append_number(to, given_up_);
  append_number(to, unreadable_);
  append_error(to, last_error_);
  append_time(to, last_error_at_);
  append_number(to, static_cast<std::uint32_t>(open_.size()));
  for (const auto& [sequence, message] : open_) {
    append_number(to, sequence);
    append(to, message.at);
    append_number(to, message.attempts);
    append_number(to, static_cast<std::uint8_t>(message.is_in_flight));
    append_time(to, message.due);
    append_time(to, message.delay);
  }
  return to;
}

std::optional<SubscriptionState> SubscriptionState::decode(std::string_view bytes) {
  FieldReader fields(bytes);
  SubscriptionState state(take_position(fields));
  state.is_paused_ = fields.number<std::uint8_t>() != 0;
  state.delivered_ = fields.number<std::uint64_t>();
  state.given_up_ = fields.number<std::uint64_t>();
  state.unreadable_ = fields.number<std::uint64_t>();
  state.last_error_ = take_error(fields);
  state.last_error_at_ = take_time(fields);
  const auto count = fields.number<std::uint32_t>();
  if (count > kMaxWindow) return std::nullopt;
  for (std::uint32_t i = 0; i < count && !fields.has_failed(); ++i) {
    const auto sequence = fields.number<std::uint64_t>();
    if (!state.open_.empty() && sequence <= state.open_.rbegin()->first) return std::nullopt;
    OpenMessage& message = state.open_[sequence];
    message.at = take_position(fields);
    message.attempts = fields.number<std::uint32_t>();
    message.is_in_flight = fields.number<std::uint8_t>() != 0;
    message.due = take_time(fields);
    message.delay = take_time(fields);
    if (!message.is_in_flight) state.waiting_.emplace(message.due, sequence);
  }
  return fields.is_whole() ? std::optional(std::move(state)) : std::nullopt;
}

}  // namespace quarry::spool
