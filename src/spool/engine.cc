#include "engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "memory_store.h"

namespace quarry::spool {

using base::Error;
using base::ErrorCode;

namespace {

// How long who can wait a moment does (rsyslog's light delay).
constexpr std::chrono::seconds kLightDelay{1};
// How often who waits for another process looks how far that is: soon at first.
constexpr milliseconds kFirstLook{2};
constexpr milliseconds kLastLook{64};
// For so long that does not get on, and something may be in its way.
constexpr milliseconds kStuck{1000};

}  // namespace

/// A producer of a disk queue that waits until its messages are written.
struct Engine::Waiting {
  std::span<Message> messages;
  std::size_t taken = 0;
  std::optional<Error> error;
  bool is_done = false;
};

Engine::Engine(Setup setup)
    : setup_(std::move(setup)),
      high_watermark_(setup_.options.high_watermark.value_or(0)),
      low_watermark_(setup_.options.low_watermark.value_or(0)),
      workers_(
          [this](Worker& self) {
            // A worker that is left behind outlives the queue otherwise.
            const auto engine = shared_from_this();
            engine->worker_main(self);
          },
          setup_.consumer ? setup_.options.worker_threads : 0),
      da_worker_([this](Worker& self) { da_worker_main(self); }, 1) {
  disk_ = setup_.disk.get();
  if (disk_ != nullptr) {
    store_ = std::move(setup_.disk);
  } else {
    store_ = std::make_unique<MemoryStore>();
  }
}

void Engine::start(bool found) {
  const Lock lock(mutex_);
  count();
  if (found) {
    has_files_ = true;
    start_da();
  } else {
    advise_workers();
  }
}

/// Brings the figures up to date.
void Engine::count() {
  const std::uint64_t all = held();
  step();
  undelivered_.store(all, std::memory_order_release);
  if (disk_ == nullptr) {
    setup_.figures->set_size(all);
    return;
  }
  // Who only writes does not know what is delivered: what there may be.
  setup_.figures->on_disk = setup_.consumer ? all : disk_->unsettled();
  setup_.figures->disk_bytes = disk_->bytes();
}

/// What the marks are held against. With disk assistance what consumers have counts no more: they
/// may keep it for long, and the high water mark has to be within reach then.
std::uint64_t Engine::fullness() const {
  if (is_read_elsewhere()) return disk_->unsettled();
  return is_da_enabled() ? store_->waiting() : held();
}

/// Where another process delivers, fullness() is what that was at the last look.
void Engine::look_for_progress() {
  if (!is_read_elsewhere()) return;
  disk_->look_for_progress();
  count();
}

/// For who delivers elsewhere and has not got on for long: once there is another
/// segment, it can go on behind damage in the last one, frees the room that it needs to write down
/// how far it is, and does so even if it has nothing new.
void Engine::help_reader_on() {
  if (!is_read_elsewhere()) return;
  if (const std::uint64_t left = disk_->unsettled(); left != left_at_last_look_) {
    left_at_last_look_ = left;
    stuck_since_ = now();
  } else if (!is_writing_ && now() - stuck_since_ >= kStuck) {
    disk_->end_segment();
    stuck_since_ = now();
  }
}

/// How many more messages the queue takes from who can be held up like DELAY.
std::size_t Engine::room(Delay delay) const {
  const std::size_t mark =
      delay == Delay::kFull ? *setup_.options.full_delay_mark : setup_.options.size;
  const std::uint64_t now_there = fullness();
  return now_there < mark ? static_cast<std::size_t>(mark - now_there) : 0;
}

/// How many messages may be taken together: each is looked at where some may be discarded.
std::size_t Engine::room_for(Delay delay) const {
  return setup_.options.discard_severity <= kLeastSevere ? 1 : room(delay);
}

/// Waits until IS_READY, or DEADLINE. Where the disk could not be used, it is tried again
/// meanwhile: nobody else comes by while the queue is full. Nor does another process that delivers
/// tell how far it is.
bool Engine::wait_until_ready(Lock& lock, TimePoint deadline,
                              const std::function<bool()>& is_ready) {
  milliseconds until_look = kFirstLook;
  while (!is_ready()) {
    look_for_progress();
    if (is_ready()) break;
    help_reader_on();
    const bool may_assist = is_da_enabled() && !is_da_ && store_->waiting() >= high_watermark_;
    if (may_assist && now() >= next_da_) start_da();
    TimePoint until = may_assist && !is_da_ ? std::min(deadline, next_da_) : deadline;
    if (is_read_elsewhere()) {
      until = std::min(until, now() + until_look);
      until_look = std::min(2 * until_look, kLastLook);
    }
    const bool is_in_time = room_.wait_until(lock, until) == std::cv_status::no_timeout;
    if (!is_in_time && until == deadline) return is_ready();
  }
  return true;
}

/// Waits until MESSAGE can be taken. False, with *error: it is not.
bool Engine::wait_for_room(Lock& lock, const Message& message, Delay delay, Error* error) {
  const QueueOptions& options = setup_.options;
  // So it is nearly always: no look at the clock, and no more.
  const bool is_choosy = message.severity >= options.discard_severity;
  if (delay == Delay::kNone && !is_choosy && !is_closing_ && room(delay) > 0) return true;
  const auto is_open = [&] { return is_closing_ || room(delay) > 0; };
  if (delay == Delay::kLight) {
    wait_until_ready(lock, now() + kLightDelay,
                     [&] { return is_closing_ || fullness() <= *options.light_delay_mark; });
  } else if (delay == Delay::kFull) {
    wait_until_ready(lock, TimePoint::max(), is_open);
  }
  if (is_choosy && fullness() >= *options.discard_mark) look_for_progress();
  if (is_choosy && fullness() >= *options.discard_mark) {
    ++setup_.figures->discarded;
    *error = {ErrorCode::kDiscarded, "discarded: queue.discardmark is reached"};
    return false;
  }
  const bool has_room = wait_until_ready(lock, after(options.timeout_enqueue), is_open);
  if (is_closing_) {
    *error = {ErrorCode::kBusy, "the queue is ending"};
    return false;
  }
  if (has_room) return true;
  ++setup_.figures->full;
  if (disk_is_gone_) {
    *error = *disk_is_gone_;
    return false;
  }
  *error = {ErrorCode::kLimit,
            fmt::format("the queue has been full ({} messages) for queue.timeoutenqueue ({} ms)",
                        options.size, options.timeout_enqueue.count())};
  return false;
}

/// How many of MESSAGES come before one that is too long; *error then.
std::size_t Engine::count_good(std::size_t most, std::span<const Message> messages, Error* error) {
  const auto too_long = std::ranges::find_if(
      messages, [most](const Message& one) { return one.content.size() > most; });
  if (too_long != messages.end()) {
    *error = {ErrorCode::kLimit,
              fmt::format("a message of {} bytes is too long: {} are the most{}",
                          too_long->content.size(), most,
                          most < kMostContent ? " that queue.maxdiskspace has room for" : "")};
  }
  return static_cast<std::size_t>(too_long - messages.begin());
}

std::size_t Engine::enqueue(std::span<Message> messages, Delay delay, Error* error) {
  const std::span<Message> good = messages.first(count_good(most_content(), messages, error));
  const std::size_t taken = disk_ != nullptr ? enqueue_to_disk(good, delay, error)
                                             : enqueue_to_memory(good, delay, error);
  if (!is_helper()) setup_.figures->enqueued += taken;
  return taken;
}

std::size_t Engine::enqueue_to_memory(std::span<Message> messages, Delay delay, Error* error) {
  Lock lock(mutex_);
  std::size_t done = 0;
  while (done < messages.size() && wait_for_room(lock, messages[done], delay, error)) {
    const std::size_t some = std::min(messages.size() - done, room_for(delay));
    store_->push(messages.subspan(done, some), error);
    done += some;
    messages_came();
  }
  return done;
}

void Engine::messages_came() {
  count();
  is_told_empty_ = false;
  if (is_da_enabled() && store_->waiting() >= high_watermark_) {
    if (!is_da_ && now() >= next_da_) {
      ++setup_.figures->high_watermark_hits;
      start_da();
    } else if (is_held_) {
      ++setup_.figures->high_watermark_hits;
      is_held_ = false;
    }
  }
  if (!is_da_) {
    advise_workers();
    return;
  }
  start_da_worker();
  if (da_place_ == DaPlace::kOnEmptyQueue || !is_held_) da_.notify_all();
}

/// Writes what is left of ONE's messages. False: there is no room for them.
bool Engine::write(Waiting& one) {
  Error error;
  one.taken += store_->push(one.messages.subspan(one.taken), &error);
  one.error.reset();
  if (one.taken < one.messages.size()) one.error = error;
  return !one.error || one.error->code != ErrorCode::kNoSpace;
}

/// Writes the messages of all who wait, while others may join the next group.
void Engine::push_group(Lock& lock) {
  is_writing_ = true;
  std::deque<Waiting*> group;
  group.swap(group_);
  lock.unlock();
  const auto full = std::ranges::partition(group, [this](Waiting* one) { return write(*one); });
  lock.lock();
  if (!full.empty() && disk_->make_room()) {
    lock.unlock();
    for (Waiting* one : full) write(*one);
    lock.lock();
  }
  for (Waiting* one : group) one->is_done = true;
  is_writing_ = false;
  quiet_.notify_all();
  messages_came();
}

/// Writes MESSAGES, or lets somebody write them who is at it already.
std::size_t Engine::push_together(Lock& lock, std::span<Message> messages, Error* error) {
  Waiting mine{.messages = messages, .taken = 0, .error = std::nullopt, .is_done = false};
  group_.push_back(&mine);
  while (!mine.is_done) {
    if (is_writing_) {
      quiet_.wait(lock);
    } else {
      push_group(lock);
    }
  }
  if (mine.error) *error = *mine.error;
  return mine.taken;
}

std::size_t Engine::enqueue_to_disk(std::span<Message> messages, Delay delay, Error* error) {
  Lock lock(mutex_);
  // The helper of another queue takes what is saved when that ends.
  if (is_helper()) return push_together(lock, messages, error);
  std::size_t done = 0;
  while (done < messages.size() && wait_for_room(lock, messages[done], delay, error)) {
    const std::size_t most = std::min(messages.size() - done, room_for(delay));
    const std::size_t some = push_together(lock, messages.subspan(done, most), error);
    done += some;
    if (some < most) break;
  }
  return done;
}

bool Engine::wait_until_empty(milliseconds timeout) {
  Lock lock(mutex_);
  return quiet_.wait_until(lock, after(timeout), [this] { return held() == 0 && !is_da_; });
}

DaPlace Engine::da_place() const {
  const Lock lock(mutex_);
  return da_place_;
}

}  // namespace quarry::spool
