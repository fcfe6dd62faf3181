#include "disk_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace quarry::spool {

using base::Result;

namespace {

// Bytes of one batch, but for its last message.
constexpr std::size_t kMostAtOnce = std::size_t{8} << 20;

}  // namespace

DiskStore::DiskStore(const SpoolFiles& files, const QueueOptions& options, Reporter reporter)
    : files_(files), options_(options), reporter_(std::move(reporter)) {}

void DiskStore::report(const Result<void>& result) {
  if (!result && result.error().message != last_trouble_) reporter_(result.error().message);
  last_trouble_ = result ? std::string() : result.error().message;
}

std::size_t DiskStore::push(std::span<Message> messages, base::Error* error) {
  if (!has_position_ && reader_) {
    if (auto written = files_.write_position(settled_); !written) {
      *error = written.error();
      return 0;
    }
    has_position_ = true;
  }
  if (begins_segment_.exchange(false)) writer_->finish();
  step();
  const std::size_t count = writer_->append(messages, error);
  step();
  end_.store(writer_->sequence());
  return count;
}

std::size_t DiskStore::push_front(std::span<Message> messages, base::Error* error) {
  if (!is_untouched() || settled_.segment == 0) return push(messages, error);
  const Position front{.segment = settled_.segment - 1,
                       .offset = 0,
                       .sequence = settled_.sequence - messages.size()};
  // In one file, however large: there is one number before the first.
  SegmentWriter writer(files_, {.file_size = UINT64_MAX, .disk_space = 0}, usage_, front.segment,
                       front.sequence);
  if (writer.append(messages, error) < messages.size()) {
    usage_.remove(front.segment);
    report(files_.remove(front.segment));
    return 0;
  }
  settled_ = front;
  reader_.emplace(files_, reporter_, front, &usage_);
  report(checkpoint());
  return messages.size();
}

bool DiskStore::make_room() {
  if (!reader_ || !writer_ || !taken_.empty() || waiting() > 0 || usage_.total() == 0) return false;
  writer_->finish();
  const std::uint64_t next = std::max(writer_->next_number(), settled_.segment + 1);
  settled_ = {.segment = next, .offset = 0, .sequence = writer_->sequence()};
  const auto removed = remove_done();
  report(removed);
  reader_.emplace(files_, reporter_, settled_, &usage_);
  return removed.has_value();
}

std::uint64_t DiskStore::waiting() const {
  if (!reader_) return 0;
  const std::uint64_t end = end_.load();
  const std::uint64_t next = reader_->position().sequence;
  return returned_.size() + (end > next ? end - next : 0);
}

std::uint64_t DiskStore::unsettled() const {
  const std::uint64_t end = end_.load();
  return end > settled_.sequence ? end - settled_.sequence : 0;
}

std::uint64_t DiskStore::left_of_found() const {
  const std::uint64_t next = reader_->position().sequence;
  return found_end_ > next ? found_end_ - next : 0;
}

/// What was given back first, of those with tickets before BEFORE.
Batch DiskStore::take_returned(std::size_t most, std::uint64_t before) {
  Batch batch;
  std::size_t bytes = 0;
  auto next = returned_.begin();
  while (next != returned_.end() && next->first < before && batch.messages.size() < most &&
         bytes < kMostAtOnce) {
    bytes += next->second.content.size();
    batch.tickets.push_back(next->first);
    batch.messages.push_back(std::move(next->second));
    next = returned_.erase(next);
  }
  return batch;
}

Batch DiskStore::take(std::size_t most) {
  trouble_.reset();
  if (!returned_.empty()) return take_returned(most);
  Batch batch{.messages = {}, .first_ticket = base_ + taken_.size(), .tickets = {}};
  const std::uint64_t end = end_.load();
  std::size_t bytes = 0;
  while (batch.messages.size() < most && bytes < kMostAtOnce) {
    Message message;
    const Result<bool> has_one = reader_->next(end, message);
    if (!has_one) {
      trouble_ = has_one.error();
      report(std::unexpected(has_one.error()));
      break;
    }
    if (!*has_one) {
      // What should be there is not: the segment being written is damaged.
      if (end != UINT64_MAX && reader_->position().sequence < end) {
        reader_->give_up_until(end, reader_->position().segment);
        begins_segment_.store(true);
      }
      break;
    }
    bytes += message.content.size();
    taken_.push_back({.after = reader_->position()});
    batch.messages.push_back(std::move(message));
  }
  leave_finished();
  return batch;
}

/// Reading has gone on, to another segment or past what cannot be read, and everything before is
/// settled. Who waits for room has to hear of it, before he puts the next message there.
void DiskStore::leave_finished() {
  if (!taken_.empty() || !returned_.empty()) return;
  const Position& position = reader_->position();
  if (position.sequence == settled_.sequence && position.segment == settled_.segment) return;
  const bool is_another = position.segment != settled_.segment;
  settled_ = position;
  ++unwritten_;
  report(is_another ? remove_done() : checkpoint());
}

void DiskStore::end_segment() {
  writer_->make_way();
}

void DiskStore::advance() {
  while (!taken_.empty() && taken_.front().is_settled) {
    settled_ = taken_.front().after;
    taken_.pop_front();
    ++base_;
    ++unwritten_;
  }
}

Result<void> DiskStore::close_gaps() {
  const auto last = std::ranges::find(taken_.rbegin(), taken_.rend(), true, &Taken::is_settled);
  const std::uint64_t behind = base_ + static_cast<std::uint64_t>(taken_.rend() - last);
  while (!returned_.empty() && returned_.begin()->first < behind) {
    Batch batch = take_returned(SIZE_MAX, behind);
    const std::size_t count = batch.messages.size();
    base::Error error;
    const std::size_t pushed = push(batch.messages, &error);
    settle(std::move(batch), pushed);
    if (pushed < count) return std::unexpected(error);
  }
  return {};
}

void DiskStore::settle(Batch batch, std::size_t delivered) {
  for (std::size_t i = 0; i < delivered; ++i) {
    taken_[batch.ticket(i) - base_].is_settled = true;
  }
  for (std::size_t i = delivered; i < batch.messages.size(); ++i) {
    returned_.emplace(batch.ticket(i), std::move(batch.messages[i]));
  }
  leave_settled();
}

void DiskStore::settle_first(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) taken_[i].is_settled = true;
  leave_settled();
}

/// What is settled at the beginning is left behind, and that is written down where it is time.
void DiskStore::leave_settled() {
  const std::uint64_t segment = settled_.segment;
  advance();
  const bool is_due =
      options_.checkpoint_interval != 0 && unwritten_ >= options_.checkpoint_interval;
  if (settled_.segment != segment) {
    report(remove_done());
  } else if (is_due) {
    report(checkpoint());
  }
}

Result<void> DiskStore::checkpoint() {
  // How far reading has come is for him to say who reads.
  if (!reader_) return writer_->check_place();
  QUARRY_TRY(files_.write_position(settled_));
  unwritten_ = 0;
  return {};
}

void DiskStore::tell_progress() {
  if (unwritten_ > 0) report(checkpoint());
}

void DiskStore::look_for_progress() {
  if (reader_) return;
  const auto position = files_.position();
  // What is wrong with the file is for him to find who reads.
  if (!position || !*position || !are_of_one_life((*position)->sequence, end_.load())) return;
  if ((*position)->sequence > settled_.sequence) settled_ = **position;
}

Result<void> DiskStore::remove_segment(std::uint64_t number) {
  const bool is_damaged = reader_ && reader_->damaged().contains(number);
  if (is_damaged && options_.on_corruption != OnCorruption::kIgnore) {
    QUARRY_TRY_ASSIGN(const std::string aside, files_.set_aside(number));
    reporter_(fmt::format("{}: kept as {}", files_.shown(number), aside));
  } else {
    QUARRY_TRY(files_.remove(number));
  }
  usage_.remove(number);
  return {};
}

/// Removes the segments before the first message that is not settled. That it is the first is
/// written down before: who starts without them must not miss them. On a full disk it is written
/// after, when there is room; who starts in between looks for messages that were delivered.
Result<void> DiskStore::remove_done() {
  const auto written = checkpoint();
  if (!written && written.error().code != base::ErrorCode::kNoSpace) return written;
  QUARRY_TRY_ASSIGN(const auto segments, files_.segments());
  for (const std::uint64_t number : segments) {
    if (number < settled_.segment) QUARRY_TRY(remove_segment(number));
  }
  return written ? written : checkpoint();
}

Result<void> DiskStore::destroy() {
  // Those of others are not ours to remove.
  QUARRY_TRY(files_.check_place());
  QUARRY_TRY_ASSIGN(const auto segments, files_.segments());
  for (const std::uint64_t number : segments) QUARRY_TRY(remove_segment(number));
  QUARRY_TRY(files_.remove_position());
  return files_.sync_names();
}

}  // namespace quarry::spool
