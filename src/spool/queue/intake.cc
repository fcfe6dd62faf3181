#include "intake.h"

#include <fmt/core.h>

#include <algorithm>

namespace quarry::spool {

namespace {

// Maximum delay for a producer with Delay::kLight (rsyslog's light delay).
constexpr std::chrono::seconds kLightDelay{1};
// Intervals for polling the progress of another process. Intervals grow from the first value to the
// second.
constexpr milliseconds kFirstPollDelay{2};
constexpr milliseconds kMaxPollDelay{64};
// If the other process makes no progress for this time, it is considered blocked.
constexpr milliseconds kStuck{1000};

}  // namespace

/// A producer that waits until its messages are written to a disk queue.
struct Intake::Waiting {
  std::span<Message> messages;
  std::size_t taken = 0;
  std::optional<Error> error = std::nullopt;
  bool is_done = false;
};

/// If another process delivers and has not made progress for a long time, starts a new segment. The
/// new segment lets that process skip damage at the end of the previous segment, and remove that
/// segment. The removal frees space, so that the process can store its position.
void Intake::help_reader_on() {
  if (!state_.is_read_elsewhere()) return;
  if (const std::uint64_t left = state_.disk->unsettled(); left != left_at_last_check_) {
    left_at_last_check_ = left;
    stuck_since_ = now();
  } else if (!is_writing_ && now() - stuck_since_ >= kStuck) {
    state_.disk->end_segment();
    stuck_since_ = now();
  }
}

/// Returns the number of messages that the queue still accepts from a producer with DELAY.
std::size_t Intake::room(Delay delay) const {
  const std::size_t mark =
      delay == Delay::kFull ? *state_.setup.options.full_delay_mark : state_.setup.options.size;
  const std::uint64_t now_there = state_.fullness();
  return now_there < mark ? static_cast<std::size_t>(mark - now_there) : 0;
}

/// Returns the number of messages to accept at once. If messages might be discarded, this is one,
/// because each message needs its own decision.
std::size_t Intake::room_for(Delay delay) const {
  return state_.setup.options.discard_severity <= kLeastSevere ? 1 : room(delay);
}

/// Waits until IS_READY, or until DEADLINE. Meanwhile, retries a failed disk, because other threads
/// do not retry while the queue is full. If another process delivers the messages, polls its
/// progress, because that process does not send notifications.
bool Intake::wait_until_ready(Lock& lock, TimePoint deadline,
                              const std::function<bool()>& is_ready) {
  milliseconds poll_delay = kFirstPollDelay;
  while (!is_ready()) {
    state_.refresh_progress();
    if (is_ready()) break;
    help_reader_on();
    TimePoint until = std::min(deadline, assistance_.try_again());
    if (state_.is_read_elsewhere()) {
      until = std::min(until, now() + poll_delay);
      poll_delay = std::min(2 * poll_delay, kMaxPollDelay);
    }
    const bool is_in_time = state_.room.wait_until(lock, until) == std::cv_status::no_timeout;
    if (!is_in_time && until == deadline) return is_ready();
  }
  return true;
}

/// Waits until MESSAGE can be accepted. On failure, sets *error and returns false.
bool Intake::wait_for_room(Lock& lock, const Message& message, Delay delay, Error* error) {
  const QueueOptions& options = state_.setup.options;
  // A fast path, which does not read the clock.
  const bool is_choosy = message.severity >= options.discard_severity;
  if (delay == Delay::kNone && !is_choosy && !state_.is_closing && room(delay) > 0) return true;
  const auto is_open = [&] { return state_.is_closing || room(delay) > 0; };
  if (delay == Delay::kLight) {
    wait_until_ready(lock, now() + kLightDelay, [&] {
      return state_.is_closing || state_.fullness() <= *options.light_delay_mark;
    });
  } else if (delay == Delay::kFull) {
    wait_until_ready(lock, TimePoint::max(), is_open);
  }
  if (is_choosy && state_.fullness() >= *options.discard_mark) state_.refresh_progress();
  if (is_choosy && state_.fullness() >= *options.discard_mark) {
    ++state_.setup.figures->discarded;
    *error = {ErrorCode::kDiscarded, "discarded: the queue is above queue.discardmark"};
    return false;
  }
  const bool has_room = wait_until_ready(lock, after(options.timeout_enqueue), is_open);
  if (state_.is_closing) {
    *error = {ErrorCode::kBusy, "the queue is shutting down"};
    return false;
  }
  if (has_room) return true;
  ++state_.setup.figures->full;
  if (assistance_.disk_is_gone()) {
    *error = *assistance_.disk_is_gone();
    return false;
  }
  *error = {ErrorCode::kLimit,
            fmt::format("the queue has been full ({} messages) for {} ms (queue.timeoutenqueue)",
                        options.size, options.timeout_enqueue.count())};
  return false;
}

std::size_t Intake::count_good(std::size_t max, std::span<const Message> messages, Error* error) {
  const auto too_long = std::ranges::find_if(
      messages, [max](const Message& one) { return one.content.size() > max; });
  if (too_long != messages.end()) {
    *error = {ErrorCode::kLimit,
              fmt::format("message too long: {} bytes; the limit is {}{}", too_long->content.size(),
                          max, max < kMaxContent ? " with this queue.maxdiskspace" : "")};
  }
  return static_cast<std::size_t>(too_long - messages.begin());
}

/// Returns the maximum size of a message. In general, messages must fit on the disk. A queue in
/// memory that has a consumer can deliver larger messages from memory.
std::size_t Intake::max_content() const {
  const bool must_fit = state_.disk != nullptr || !state_.setup.consumer;
  return must_fit ? spool::max_content(state_.setup.options) : kMaxContent;
}

std::size_t Intake::enqueue(std::span<Message> messages, Delay delay, Error* error) {
  const std::span<Message> good = messages.first(count_good(max_content(), messages, error));
  const std::size_t taken =
      state_.disk != nullptr ? to_disk(good, delay, error) : to_memory(good, delay, error);
  if (!state_.is_helper()) state_.setup.figures->enqueued += taken;
  return taken;
}

std::size_t Intake::to_memory(std::span<Message> messages, Delay delay, Error* error) {
  Lock lock(state_.mutex);
  std::size_t done = 0;
  while (done < messages.size() && wait_for_room(lock, messages[done], delay, error)) {
    const std::size_t some = std::min(messages.size() - done, room_for(delay));
    state_.store->push(messages.subspan(done, some), error);
    done += some;
    messages_came();
  }
  return done;
}

void Intake::messages_came() {
  state_.count();
  state_.has_notified_empty = false;
  if (!assistance_.messages_came()) workers_.advise();
}

/// Writes the remaining messages of ONE. Returns false if the disk is full.
bool Intake::write(Waiting& one) {
  Error error;
  one.taken += state_.store->push(one.messages.subspan(one.taken), &error);
  one.error.reset();
  if (one.taken < one.messages.size()) one.error = error;
  return !one.error || one.error->code != ErrorCode::kNoSpace;
}

/// Writes the messages of all waiting producers. Meanwhile, other producers join the next group.
void Intake::push_group(Lock& lock) {
  is_writing_ = true;
  std::deque<Waiting*> group;
  group.swap(group_);
  lock.unlock();
  const auto full = std::ranges::partition(group, [this](Waiting* one) { return write(*one); });
  lock.lock();
  if (!full.empty() && state_.disk->make_room()) {
    lock.unlock();
    for (Waiting* one : full) write(*one);
    lock.lock();
  }
  for (Waiting* one : group) one->is_done = true;
  is_writing_ = false;
  state_.quiet.notify_all();
  messages_came();
}

/// Writes MESSAGES, or waits until another thread has written them.
std::size_t Intake::push_together(Lock& lock, std::span<Message> messages, Error* error) {
  Waiting mine{.messages = messages};
  group_.push_back(&mine);
  while (!mine.is_done) {
    if (is_writing_) {
      state_.quiet.wait(lock);
    } else {
      push_group(lock);
    }
  }
  if (mine.error) *error = *mine.error;
  return mine.taken;
}

std::size_t Intake::to_disk(std::span<Message> messages, Delay delay, Error* error) {
  Lock lock(state_.mutex);
  // A helper does not wait for room, so that its owner can save messages at shutdown.
  if (state_.is_helper()) return push_together(lock, messages, error);
  std::size_t done = 0;
  while (done < messages.size() && wait_for_room(lock, messages[done], delay, error)) {
    const std::size_t max = std::min(messages.size() - done, room_for(delay));
    const std::size_t some = push_together(lock, messages.subspan(done, max), error);
    done += some;
    if (some < max) break;
  }
  return done;
}

void Intake::finish(Lock& lock) {
  state_.quiet.wait(lock, [this] { return !is_writing_ && group_.empty(); });
}

}  // namespace quarry::spool
