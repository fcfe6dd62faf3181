#include "stream_log.h"

#include <algorithm>
#include <iterator>

namespace quarry::spool {

/// A call of append() that waits until its messages are written.
struct StreamLog::Waiting {
  std::span<Message> messages;
  std::uint64_t first = 0;
  std::optional<Error> error = std::nullopt;
  bool is_done = false;
};

Result<std::unique_ptr<StreamLog>> StreamLog::open(
    const SpoolFiles& files, const StreamOptions& options, const Reporter& reporter,
    const std::map<std::string, SubscriptionState>& subscriptions) {
  std::unique_ptr<StreamLog> log(new StreamLog(files, options, reporter));
  Position furthest{.segment = 1, .offset = 0, .sequence = 1};
  for (const auto& [name, state] : subscriptions) {
    furthest = std::max(furthest, state.read());
    log->floors_[name] = state.floor();
  }
  QUARRY_TRY(log->log_.recover(furthest));
  QUARRY_TRY(report_incomplete(files, reporter));
  log->remove_unneeded();
  return log;
}

Result<std::uint64_t> StreamLog::append(std::span<Message> messages) {
  Waiting mine{.messages = messages};
  Lock lock(mutex_);
  group_.push_back(&mine);
  while (!mine.is_done) {
    if (is_writing_) {
      changed_.wait(lock);
    } else {
      write_group(lock);
    }
  }
  if (mine.error) return std::unexpected(*mine.error);
  return mine.first;
}

/// Writes the messages of all waiting callers. Meanwhile, other callers join the next group.
void StreamLog::write_group(Lock& lock) {
  is_writing_ = true;
  std::deque<Waiting*> group;
  group.swap(group_);
  lock.unlock();
  write(group);
  lock.lock();
  for (Waiting* one : group) one->is_done = true;
  is_writing_ = false;
  changed_.notify_all();
}

void StreamLog::write(std::deque<Waiting*>& group) {
  const Position before = log_.next();
  std::uint64_t sequence = before.sequence;
  std::vector<Message> joined;
  for (const Waiting* one : group) {
    if (group.size() > 1) std::ranges::move(one->messages, std::back_inserter(joined));
  }
  const std::span<Message> all = group.size() > 1 ? std::span(joined) : group.front()->messages;
  Error error;
  log_.append(all, &error);
  for (Waiting* one : group) {
    one->first = sequence;
    sequence += one->messages.size();
    if (sequence > log_.next().sequence) one->error = error;
  }
  // If a new segment was started, earlier segments might not be needed any more.
  if (log_.next().segment != before.segment) remove_unneeded();
}

Position StreamLog::cut() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_writing_; });
  return log_.cut();
}

void StreamLog::set_floor(const std::string& subscription, std::uint64_t floor) {
  {
    const Lock lock(floors_mutex_);
    floors_[subscription] = floor;
  }
  remove_unneeded();
}

void StreamLog::forget(const std::string& subscription) {
  {
    const Lock lock(floors_mutex_);
    floors_.erase(subscription);
  }
  remove_unneeded();
}

void StreamLog::note_damaged(const std::set<std::uint64_t>& segments) {
  const Lock lock(floors_mutex_);
  log_.note_damaged(segments);
}

/// Removes segments that are not needed. The last segment is kept, because it determines the next
/// sequence number.
void StreamLog::remove_unneeded() {
  const Lock lock(floors_mutex_);
  const auto there = log_.usage().segments();
  if (there.empty()) return;
  std::uint64_t floor = there.rbegin()->first;
  for (const auto& [name, one] : floors_) floor = std::min(floor, one);
  if (there.begin()->first >= floor) return;
  if (const auto removed = log_.remove_before(floor); !removed) reporter_(removed.error().message);
}

}  // namespace quarry::spool
