#include "stream_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "segments/segment_reader.h"

namespace quarry::spool {

using base::Error;
using base::ErrorCode;
using base::FileUse;
using base::Result;

/// Who waits until its messages are written.
struct StreamLog::Waiting {
  std::span<Message> messages;
  std::uint64_t first = 0;
  std::optional<Error> error;
  bool is_done = false;
};

Result<std::unique_ptr<StreamLog>> StreamLog::open(
    const SpoolFiles& files, const StreamOptions& options, const Reporter& reporter,
    const std::map<std::string, Reached>& subscriptions) {
  std::unique_ptr<StreamLog> log(new StreamLog(files, reporter));
  QUARRY_TRY_ASSIGN(const auto segments, files.segments());
  QUARRY_TRY(log->measure(segments));
  QUARRY_TRY_ASSIGN(std::uint64_t sequence, find_end(files, segments, Position{.sequence = 1}));
  std::uint64_t number = segments.empty() ? 1 : segments.back() + 1;
  for (const auto& [name, reached] : subscriptions) {
    sequence = std::max(sequence, reached.read.sequence);
    // Where something was read of a segment that is gone, its number does not come again.
    number = std::max(number, reached.read.segment + (reached.read.offset > 0 ? 1 : 0));
    log->floors_[name] = reached.floor;
  }
  log->writer_.emplace(files,
                       SegmentWriter::Limits{.file_size = options.max_file_size,
                                             .disk_space = options.max_disk_space},
                       log->usage_, number, sequence);
  log->end_.store(sequence);
  log->remove_unneeded();
  return log;
}

Result<void> StreamLog::measure(const std::vector<std::uint64_t>& segments) {
  for (const std::uint64_t number : segments) {
    QUARRY_TRY_ASSIGN(const auto file,
                      files_.system().open(files_.segment(number), FileUse::kRead));
    QUARRY_TRY_ASSIGN(const std::uint64_t size, file->size());
    usage_.set(number, size);
  }
  return {};
}

Result<std::uint64_t> StreamLog::append(std::span<Message> messages) {
  Waiting mine{.messages = messages, .first = 0, .error = std::nullopt, .is_done = false};
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

/// Writes the messages of all who wait, while others may join the next group.
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
  if (begins_segment_.exchange(false)) writer_->finish();
  const std::uint64_t number = writer_->next_number();
  std::uint64_t sequence = writer_->sequence();
  std::vector<Message> joined;
  for (const Waiting* one : group) {
    if (group.size() > 1) std::ranges::move(one->messages, std::back_inserter(joined));
  }
  const std::span<Message> all = group.size() > 1 ? std::span(joined) : group.front()->messages;
  Error error;
  writer_->append(all, &error);
  for (Waiting* one : group) {
    one->first = sequence;
    sequence += one->messages.size();
    if (sequence > writer_->sequence()) one->error = error;
  }
  end_.store(writer_->sequence(), std::memory_order_release);
  // With another segment the one before may be nobody's.
  if (writer_->next_number() != number) remove_unneeded();
}

Position StreamLog::cut() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_writing_; });
  writer_->finish();
  return {.segment = writer_->next_number(), .offset = 0, .sequence = writer_->sequence()};
}

Result<Position> StreamLog::first() {
  QUARRY_TRY_ASSIGN(const auto segments, files_.segments());
  if (segments.empty()) return cut();
  return Position{.segment = segments.front(),
                  .offset = 0,
                  .sequence = std::max<std::uint64_t>(files_.first_sequence(segments), 1)};
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
  damaged_.insert(segments.begin(), segments.end());
}

/// The last segment stays: it tells the next sequence number.
void StreamLog::remove_unneeded() {
  const Lock lock(floors_mutex_);
  const auto there = usage_.segments();
  if (there.empty()) return;
  std::uint64_t floor = there.rbegin()->first;
  for (const auto& [name, one] : floors_) floor = std::min(floor, one);
  for (const auto& [number, bytes] : there) {
    if (number >= floor) return;
    if (const auto removed = remove_segment(number); !removed) {
      reporter_(removed.error().message);
      // Gone already: somebody else removed it. Others are tried with the next segment.
      if (removed.error().code != ErrorCode::kNotFound) return;
    }
    usage_.remove(number);
  }
}

Result<void> StreamLog::remove_segment(std::uint64_t number) {
  if (damaged_.erase(number) == 0) return files_.remove(number);
  QUARRY_TRY_ASSIGN(const std::string aside, files_.set_aside(number));
  reporter_(files_.shown(number) + ": kept as " + aside);
  return {};
}

}  // namespace quarry::spool
