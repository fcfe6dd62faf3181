#include "disk_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <utility>

namespace quarry::spool {

namespace {

/// Returns the first sequence number of a new generation. A generation ends when the queue is empty
/// and its files are removed. The numbers of generations are far apart, so that stale position
/// files are recognized.
std::uint64_t new_generation() {
  std::random_device random;
  return std::uint64_t{(random() & 0xfffff) + 1} << 40;
}

}  // namespace

DiskStore::DiskStore(const SpoolFiles& files, const QueueOptions& options, Reporter reporter)
    : files_(files),
      options_(options),
      reporter_(std::move(reporter)),
      log_(files, reporter_,
           {.file_size = options.max_file_size, .disk_space = options.max_disk_space}) {}

// --- recovery of the state that the previous process left --------------------------------

Result<bool> DiskStore::is_there(const SpoolFiles& files) {
  QUARRY_TRY_ASSIGN(const auto segments, files.segments());
  if (!segments.empty()) return true;
  const auto position = files.position();
  return !position || position->has_value();
}

/// Finds the read position. Removes the SEGMENTS before this position. (Such segments exist if a
/// process was killed before it removed them.)
Result<std::optional<Position>> DiskStore::recover_position(
    const std::vector<std::uint64_t>& segments) {
  auto found = files_.position();
  if (!found && found.error().code != ErrorCode::kCorrupt) return std::unexpected(found.error());
  if (!found && options_.on_corruption == OnCorruption::kIgnore) {
    QUARRY_TRY(files_.remove_position());
    reporter_(fmt::format("{}; delivering all stored messages, possibly some of them again",
                          found.error().message));
    return std::nullopt;
  }
  if (!found) {
    QUARRY_TRY_ASSIGN(const std::string aside, files_.set_position_aside());
    reporter_(fmt::format(
        "{}; it is kept as {}; delivering all stored messages, possibly some of them again",
        found.error().message, aside));
    return std::nullopt;
  }
  if (!*found || segments.empty()) return *found;
  const Position position = **found;
  if (!files_.is_of_these(position, segments)) {
    reporter_("the position file does not match the segments; delivering all stored messages");
    return std::nullopt;
  }
  QUARRY_TRY(log_.remove_before(position.segment));
  return position;
}

Result<void> DiskStore::recover(Roles roles) {
  QUARRY_TRY_ASSIGN(const auto segments, files_.segments());
  std::optional<Position> position;
  if (roles == Roles::kWriter) {
    // Ignore errors: the reading process might be replacing the position file, and that process
    // also reports any damage.
    position = files_.position().value_or(std::nullopt);
    if (position && !files_.is_of_these(*position, segments)) position.reset();
  } else {
    QUARRY_TRY_ASSIGN(position, recover_position(segments));
  }
  is_writer_ = roles != Roles::kReader;
  has_position_ = position.has_value();
  if (!position) {
    QUARRY_TRY_ASSIGN(settled_, files_.beginning());
    if (settled_.sequence == 0 && is_writer_) settled_.sequence = new_generation();
  } else if (std::ranges::binary_search(segments, position->segment)) {
    settled_ = *position;
  } else {
    // The segment of the position was removed, because all its messages were delivered.
    settled_ = {.segment = position->segment + 1, .offset = 0, .sequence = position->sequence};
  }
  QUARRY_TRY(log_.recover(settled_));
  if (roles != Roles::kWriter) {
    reader_.emplace(files_, reporter_, settled_, is_writer_ ? &log_.usage() : nullptr);
  }
  if (roles == Roles::kBoth && !has_position_ && !segments.empty()) {
    QUARRY_TRY(checkpoint());
    has_position_ = true;
  }
  if (roles == Roles::kBoth && waiting() > 0) {
    reporter_(fmt::format("{}: {} messages from an earlier run are waiting for delivery",
                          files_.shown(settled_.segment), waiting()));
  }
  return {};
}

Result<std::unique_ptr<DiskStore>> DiskStore::open(const SpoolFiles& files,
                                                   const QueueOptions& options,
                                                   const Reporter& reporter, Roles roles) {
  std::unique_ptr<DiskStore> store(new DiskStore(files, options, reporter));
  QUARRY_TRY(store->recover(roles));
  return store;
}

// --- writing and reading ----------------------------------------------------------------------

void DiskStore::report(const Result<void>& result) {
  if (!result && result.error().message != last_trouble_) reporter_(result.error().message);
  last_trouble_ = result ? std::string() : result.error().message;
}

std::size_t DiskStore::push(std::span<Message> messages, Error* error) {
  if (!has_position_ && reader_) {
    if (auto written = files_.write_position(settled_); !written) {
      *error = written.error();
      return 0;
    }
    has_position_ = true;
  }
  return log_.append(messages, error);
}

std::size_t DiskStore::push_front(std::span<Message> messages, Error* error) {
  if (!is_untouched() || settled_.segment == 0) return push(messages, error);
  const Position front{.segment = settled_.segment - 1,
                       .offset = 0,
                       .sequence = settled_.sequence - messages.size()};
  if (const auto put = log_.prepend(messages, front); !put) {
    *error = put.error();
    return 0;
  }
  settled_ = front;
  reader_.emplace(files_, reporter_, front, &log_.usage());
  report(checkpoint());
  return messages.size();
}

bool DiskStore::make_room() {
  if (!reader_ || !is_writer_ || !taken_.empty() || waiting() > 0 || bytes() == 0) return false;
  report(reader_->report_incomplete(reporter_));
  const std::uint64_t after = settled_.segment + 1;
  settled_ = log_.cut();
  settled_.segment = std::max(settled_.segment, after);
  const auto removed = remove_done();
  report(removed);
  reader_.emplace(files_, reporter_, settled_, &log_.usage());
  return removed.has_value();
}

/// Returns the sequence number after the last readable message. Returns UINT64_MAX if another
/// process writes, because the number is then unknown.
std::uint64_t DiskStore::known_end() const {
  return is_writer_ ? log_.end() : UINT64_MAX;
}

std::uint64_t DiskStore::waiting() const {
  if (!reader_) return 0;
  const std::uint64_t end = known_end();
  const std::uint64_t next = reader_->position().sequence;
  return returned_.size() + (end > next ? end - next : 0);
}

std::uint64_t DiskStore::unsettled() const {
  const std::uint64_t end = known_end();
  return end > settled_.sequence ? end - settled_.sequence : 0;
}

std::uint64_t DiskStore::left_of_found() const {
  const std::uint64_t next = reader_->position().sequence;
  return log_.end() > next ? log_.end() - next : 0;
}

/// Takes messages that were returned to the store and have tickets below BEFORE.
Batch DiskStore::take_returned(std::size_t max, std::uint64_t before) {
  Batch batch;
  std::size_t bytes = 0;
  auto next = returned_.begin();
  while (next != returned_.end() && next->first < before && batch.messages.size() < max &&
         bytes < kMaxAtOnce) {
    bytes += next->second.content.size();
    batch.tickets.push_back(next->first);
    batch.messages.push_back(std::move(next->second));
    next = returned_.erase(next);
  }
  return batch;
}

Batch DiskStore::take(std::size_t max) {
  trouble_.reset();
  if (!returned_.empty()) return take_returned(max);
  Batch batch{.messages = {}, .first_ticket = base_ + taken_.size(), .tickets = {}};
  const std::uint64_t end = known_end();
  std::size_t bytes = 0;
  while (batch.messages.size() < max && bytes < kMaxAtOnce) {
    Message message;
    const Result<bool> has_one = reader_->next(end, message);
    if (!has_one) {
      trouble_ = has_one.error();
      report(std::unexpected(has_one.error()));
      break;
    }
    if (!*has_one) {
      // The log contains more messages, so the current segment is damaged. Skip the unreadable
      // messages, and let the writer start a new segment.
      if (end != UINT64_MAX && reader_->position().sequence < end) {
        reader_->give_up_until(end, reader_->position().segment);
        log_.begin_segment();
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

/// Records progress to another segment or past unreadable messages, when all earlier messages are
/// settled. The progress must be published before the next message arrives, because a producer
/// might be waiting for space.
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
  log_.rotate();
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
    Error error;
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

/// Advances past settled messages, and stores the position if a checkpoint is due.
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
  // If this process does not read, it must not write the position file, which belongs to the
  // reading process.
  if (!reader_) return log_.check_folder();
  QUARRY_TRY(files_.write_position(settled_));
  unwritten_ = 0;
  return {};
}

void DiskStore::publish_progress() {
  if (unwritten_ > 0) report(checkpoint());
}

void DiskStore::refresh_progress() {
  if (reader_) return;
  const auto position = files_.position();
  // Ignore a damaged file, because the reading process reports the damage.
  if (!position || !*position || !are_of_same_generation((*position)->sequence, log_.end())) return;
  if ((*position)->sequence > settled_.sequence) settled_ = **position;
}

Result<void> DiskStore::remove_before(std::uint64_t number) {
  if (reader_ && options_.on_corruption != OnCorruption::kIgnore) {
    log_.note_damaged(reader_->damaged());
  }
  return log_.remove_before(number);
}

/// Removes the segments before the first unsettled message. The position is stored first, because
/// the next start needs it if the segments are missing. On a full disk, the position is stored
/// after the removal has freed space. If the process is killed after the removal and before the
/// position is stored, the next start reports the removed messages as missing, although they were
/// delivered.
Result<void> DiskStore::remove_done() {
  const auto written = checkpoint();
  if (!written && written.error().code != ErrorCode::kNoSpace) return written;
  QUARRY_TRY(remove_before(settled_.segment));
  return written ? written : checkpoint();
}

Result<void> DiskStore::destroy() {
  // Do not remove files if the directory was replaced, because the files in the new directory
  // belong to another process.
  QUARRY_TRY(files_.check_folder());
  if (reader_) report(reader_->report_incomplete(reporter_));
  QUARRY_TRY(remove_before(UINT64_MAX));
  QUARRY_TRY(files_.remove_position());
  return files_.sync_names();
}

}  // namespace quarry::spool
