#include "segment_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

namespace quarry::spool {

using base::FileUse;

namespace {

// Maximum size of one write(2), unless a single message is larger.
constexpr std::size_t kLargestWrite = std::size_t{1} << 20;

/// Reads READER's messages to the end.
Result<void> read_all(SegmentReader& reader) {
  Message message;
  while (true) {
    QUARRY_TRY_ASSIGN(const bool has_one, reader.next(UINT64_MAX, message));
    if (!has_one) return {};
  }
}

}  // namespace

// --- recovery ---------------------------------------------------------------------------------

Result<std::uint64_t> find_end(const SpoolFiles& files, const Position& start) {
  QUARRY_TRY_ASSIGN(const auto segments, files.segments());
  for (const std::uint64_t number : std::views::reverse(segments)) {
    const bool is_first = number == start.segment;
    SegmentReader reader(
        files, [](const std::string&) {},
        is_first ? start : Position{.segment = number, .offset = 0, .sequence = 0});
    QUARRY_TRY(read_all(reader));
    if (reader.position().sequence != 0) {
      return std::max(reader.position().sequence, start.sequence);
    }
  }
  return start.sequence;
}

Result<void> report_incomplete(const SpoolFiles& files, const Reporter& reporter) {
  QUARRY_TRY_ASSIGN(const auto segments, files.segments());
  if (segments.empty()) return {};
  // Start at the beginning of the segment, because the saved position of a reader can be after the
  // incomplete message.
  SegmentReader reader(files, [](const std::string&) {},
                       {.segment = segments.back(), .offset = 0, .sequence = 0});
  QUARRY_TRY(read_all(reader));
  return reader.report_incomplete(reporter);
}

Result<void> report_incomplete_if_idle(const SpoolFiles& files, const Reporter& reporter) {
  if (files.is_taken(Roles::kWriter).value_or(true)) return {};
  return report_incomplete(files, reporter);
}

Result<void> SegmentLog::recover(const Position& reached) {
  QUARRY_TRY_ASSIGN(const auto sizes, files_.sizes());
  for (const auto& [number, bytes] : sizes) usage_.set(number, bytes);
  QUARRY_TRY_ASSIGN(const std::uint64_t end, find_end(files_, reached));
  // Do not reuse the number of a segment that was read and removed.
  const std::uint64_t after_reached = reached.segment + (reached.offset > 0 ? 1 : 0);
  const std::uint64_t after_last = sizes.empty() ? 1 : sizes.rbegin()->first + 1;
  begin_at({.segment = std::max(after_reached, after_last), .offset = 0, .sequence = end});
  return {};
}

void SegmentLog::begin_at(const Position& beginning) {
  next_number_ = beginning.segment;
  sequence_ = beginning.sequence;
  end_.store(sequence_);
}

// --- appending --------------------------------------------------------------------------------

/// Opens a segment for appending. Creates the file before the space for its content is checked,
/// because the disk might have space only for the name. A reader that finds the new file knows that
/// the previous segment is complete, and can remove that segment.
Result<void> SegmentLog::begin_file() {
  if (file_ && size_ > 0 && size_ < limits_.file_size) return {};
  if (!file_ || size_ > 0) {
    QUARRY_TRY(files_.check_folder());
    file_.reset();
    auto made = files_.system().open(files_.segment(next_number_), FileUse::kMake);
    // Do not overwrite existing files, which a user might have copied here.
    while (!made && made.error().code == ErrorCode::kBusy) {
      made = files_.system().open(files_.segment(++next_number_), FileUse::kMake);
    }
    if (!made) return std::unexpected(made.error());
    file_ = std::move(*made);
    number_ = next_number_++;
    size_ = 0;
    QUARRY_TRY(files_.sync_names());
  }
  QUARRY_TRY(check_space(kSegmentHeader));
  const auto written = file_->append(encode(SegmentHeader{.number = number_, .first = sequence_}));
  if (!written) {
    if (!file_->truncate(0)) file_.reset();
    return written;
  }
  size_ = kSegmentHeader;
  usage_.set(number_, size_);
  return {};
}

Result<void> SegmentLog::check_folder() const {
  if (!file_) return files_.check_folder();
  QUARRY_TRY_ASSIGN(const bool is_there, file_->has_name());
  if (is_there) return {};
  QUARRY_TRY(files_.check_folder());
  return fail(ErrorCode::kNotFound,
              "{}: the file was removed or replaced while the queue was writing to it",
              files_.shown(number_));
}

Result<void> SegmentLog::check_space(std::uint64_t bytes) {
  if (bytes <= room()) return {};
  // Another process might have read and removed segments of this queue. Stop counting these
  // segments.
  QUARRY_TRY_ASSIGN(const auto there, files_.segments());
  for (const auto& [number, size] : usage_.segments()) {
    if (!std::ranges::binary_search(there, number)) usage_.remove(number);
  }
  if (bytes <= room()) return {};
  return fail(ErrorCode::kNoSpace, "{}: the limit queue.maxdiskspace ({} bytes) is reached",
              files_.shown(number_), limits_.disk_space);
}

/// Returns the number of bytes that can still be written.
std::uint64_t SegmentLog::room() const {
  if (limits_.disk_space == 0) return UINT64_MAX;
  const std::uint64_t used = usage_.total();
  return used < limits_.disk_space ? limits_.disk_space - used : 0;
}

Result<std::size_t> SegmentLog::append_some(std::span<const Message> messages) {
  QUARRY_TRY(begin_file());
  buffer_.clear();
  const std::uint64_t max = room();
  std::size_t count = 0;
  while (count < messages.size() && buffer_.size() < kLargestWrite &&
         size_ + buffer_.size() < limits_.file_size) {
    const std::size_t next = buffer_.size() + kRecordHeader + messages[count].content.size();
    if (count > 0 && next > max) break;
    encode(buffer_, number_, sequence_ + count, messages[count]);
    ++count;
  }
  if (auto has_room = check_space(buffer_.size()); !has_room) {
    rotate();
    return std::unexpected(has_room.error());
  }
  auto written = file_->append(buffer_);
  if (!written) count = keep_whole(messages.first(count));
  if (count > 0 && files_.is_synced()) {
    if (auto synced = file_->sync(); !synced) {
      written = synced;
      count = 0;
    }
  }
  if (count > 0) {
    if (auto there = check_folder(); !there) {
      // The messages might be in a file that was moved to another directory, so they count as not
      // accepted.
      (void)file_->truncate(size_);
      file_.reset();
      return std::unexpected(there.error());
    }
  }
  if (written || count > 0) {
    size_ += buffer_.size();
    sequence_ += count;
    usage_.set(number_, size_);
  }
  if (written) return count;
  const bool was_whole = count == 0 && !buffer_.empty();
  // End the segment if it cannot be truncated. Also end the segment if whole messages were removed
  // from it, because a reader might have read these messages.
  if (!file_->truncate(size_) || was_whole) file_.reset();
  if (count > 0) return count;
  rotate();
  return std::unexpected(written.error());
}

/// Returns the number of MESSAGES that are completely in the file after a failed write. Keeps only
/// the bytes of these messages in the buffer.
std::size_t SegmentLog::keep_whole(std::span<const Message> messages) {
  const auto end = file_->size();
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  while (end && count < messages.size()) {
    const std::uint64_t next = bytes + kRecordHeader + messages[count].content.size();
    if (size_ + next > *end) break;
    bytes = next;
    ++count;
  }
  buffer_.resize(bytes);
  return count;
}

void SegmentLog::rotate() {
  if (file_ && size_ <= kSegmentHeader) return;
  file_.reset();
  (void)begin_file();  // ignore errors, because the disk might be full
}

std::size_t SegmentLog::append(std::span<const Message> messages, Error* error) {
  if (begins_segment_.exchange(false)) file_.reset();
  step();
  std::size_t done = 0;
  while (done < messages.size()) {
    const auto count = append_some(messages.subspan(done));
    if (!count) {
      *error = count.error();
      break;
    }
    done += *count;
  }
  step();
  end_.store(sequence_, std::memory_order_release);
  return done;
}

Result<void> SegmentLog::prepend(std::span<const Message> messages, const Position& front) {
  // Use a single file of any size, because only one segment number is reserved before the first
  // segment.
  SegmentLog log(files_, reporter_, {});
  log.begin_at(front);
  Error error;
  if (log.append(messages, &error) == messages.size()) {
    usage_.set(front.segment, log.usage_.total());
    return {};
  }
  if (const auto removed = files_.remove(front.segment); !removed) {
    reporter_(removed.error().message);
  }
  return std::unexpected(error);
}

Position SegmentLog::cut() {
  file_.reset();
  return next();
}

// --- removing ---------------------------------------------------------------------------------

Result<void> SegmentLog::remove_before(std::uint64_t number) {
  QUARRY_TRY_ASSIGN(const auto segments, files_.segments());
  for (const std::uint64_t one : segments) {
    if (one >= number) break;
    if (damaged_.contains(one)) {
      QUARRY_TRY_ASSIGN(const std::string aside, files_.set_aside(one));
      reporter_(fmt::format("{}: kept as {}", files_.shown(one), aside));
      damaged_.erase(one);
    } else {
      QUARRY_TRY(files_.remove(one));
    }
    usage_.remove(one);
  }
  return {};
}

}  // namespace quarry::spool
