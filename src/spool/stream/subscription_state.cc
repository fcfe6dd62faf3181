#include "subscription_state.h"

#include <algorithm>
#include <concepts>
#include <type_traits>

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

void SubscriptionState::set_in_flight(Open::iterator message) {
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
    // The journal might be invalid. Therefore, limit the number of open messages, and close a
    // message that is already open before it is opened again.
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
      state.set_in_flight(message);
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
  void operator()(const Skipped& event) const {
    with(event.sequence, [this](Open::iterator message) { state.close(message); });
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

SubscriptionStatistics SubscriptionState::statistics(std::string name, std::uint64_t end) const {
  SubscriptionStatistics figures;
  figures.name = std::move(name);
  figures.waiting = open_.size() + (end > read_.sequence ? end - read_.sequence : 0);
  figures.in_flight = in_flight();
  figures.postponed = postponed();
  if (!open_.empty()) figures.head_attempts = open_.begin()->second.attempts;
  figures.last_error = last_error_;
  if (last_error_at_ != 0) figures.last_error_at = base::UnixMillis{last_error_at_};
  figures.delivered = delivered_;
  figures.given_up = given_up_;
  figures.unreadable = unreadable_;
  return figures;
}

// --- bytes ------------------------------------------------------------------------------------

namespace {

/// Appends fields to bytes.
struct FieldWriter {
  std::string to = {};

  template <std::integral Number>
  void operator()(Number number) {
    append_number(to, static_cast<std::make_unsigned_t<Number>>(number));
  }
  void operator()(bool flag) { (*this)(static_cast<std::uint8_t>(flag)); }
  void operator()(const std::string& error) { append_text<std::uint16_t>(to, error); }
  void operator()(const Position& position) {
    (*this)(std::tie(position.segment, position.offset, position.sequence));
  }
  template <typename... Fields>
  void operator()(const std::tuple<Fields&...>& fields) {
    std::apply([this](auto&... each) { ((*this)(each), ...); }, fields);
  }
};

/// Reads the fields that FieldWriter has appended.
struct FieldTaker {
  FieldReader from;

  template <std::integral Number>
  void operator()(Number& number) {
    number = static_cast<Number>(from.number<std::make_unsigned_t<Number>>());
  }
  void operator()(bool& flag) { flag = from.number<std::uint8_t>() != 0; }
  void operator()(std::string& error) { error = from.text<std::uint16_t>(); }
  void operator()(Position& position) {
    (*this)(std::tie(position.segment, position.offset, position.sequence));
  }
  template <typename... Fields>
  void operator()(const std::tuple<Fields&...>& fields) {
    std::apply([this](auto&... each) { ((*this)(each), ...); }, fields);
  }
};

/// Returns an event of KIND with default fields.
template <std::size_t kKind = 0>
std::optional<Event> event_of(std::size_t kind) {
  if constexpr (kKind == std::variant_size_v<Event>) {
    return std::nullopt;
  } else {
    if (kind == kKind) return Event(std::in_place_index<kKind>);
    return event_of<kKind + 1>(kind);
  }
}

/// Returns whether EVENT is plausible. Checked before memory is allocated for each message.
bool is_good(const Event& event) {
  const Taken* const taken = std::get_if<Taken>(&event);
  return taken == nullptr || (taken->first.sequence <= taken->after.sequence &&
                              taken->after.sequence - taken->first.sequence <= kMaxWindow);
}

}  // namespace

std::string encode(const Event& event) {
  FieldWriter bytes;
  bytes(static_cast<std::uint8_t>(event.index()));
  std::visit([&](const auto& one) { bytes(std::decay_t<decltype(one)>::fields(one)); }, event);
  return bytes.to;
}

std::optional<Event> decode_event(std::string_view bytes) {
  FieldTaker take{FieldReader(bytes)};
  auto event = event_of(take.from.number<std::uint8_t>());
  if (!event) return std::nullopt;
  std::visit([&](auto& one) { take(std::decay_t<decltype(one)>::fields(one)); }, *event);
  return take.from.is_whole() && is_good(*event) ? event : std::nullopt;
}

std::string SubscriptionState::encode() const {
  FieldWriter bytes;
  bytes(fields(*this));
  bytes(static_cast<std::uint32_t>(open_.size()));
  for (const auto& [sequence, message] : open_) {
    bytes(sequence);
    bytes(OpenMessage::fields(message));
  }
  return bytes.to;
}

std::optional<SubscriptionState> SubscriptionState::decode(std::string_view bytes) {
  FieldTaker take{FieldReader(bytes)};
  SubscriptionState state;
  take(fields(state));
  const auto count = take.from.number<std::uint32_t>();
  if (count > kMaxWindow) return std::nullopt;
  for (std::uint32_t i = 0; i < count && !take.from.has_failed(); ++i) {
    const auto sequence = take.from.number<std::uint64_t>();
    if (!state.open_.empty() && sequence <= state.open_.rbegin()->first) return std::nullopt;
    OpenMessage& message = state.open_[sequence];
    take(OpenMessage::fields(message));
    if (!message.is_in_flight) state.waiting_.emplace(message.due, sequence);
  }
  return take.from.is_whole() ? std::optional(std::move(state)) : std::nullopt;
}

}  // namespace quarry::spool
