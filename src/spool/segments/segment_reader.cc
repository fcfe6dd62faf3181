#include "segment_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace quarry::spool {
namespace {

using base::FileUse;

// Minimum and maximum number of bytes per read. A reader starts with the minimum, because it finds
// little data if it follows a writer. The number grows while more data is available.
constexpr std::size_t kMinAtOnce = std::size_t{4} << 10;
constexpr std::size_t kLargestRead = std::size_t{256} << 10;

}  // namespace

SegmentReader::SegmentReader(SpoolFiles files, Reporter reporter, Position start,
                             const DiskUsage* written)
    : files_(std::move(files)),
      reporter_(std::move(reporter)),
      written_(written),
      position_(start),
      at_once_(kMinAtOnce) {}

void SegmentReader::report_damage(const std::string& what) {
  reporter_(fmt::format("{}: {}; the rest of the file is skipped", files_.shown(position_.segment),
                        what));
  damaged_.insert(position_.segment);
  is_damaged_ = true;
}

void SegmentReader::give_up_until(std::uint64_t sequence, std::uint64_t segment) {
  if (sequence <= position_.sequence) return;
  const std::uint64_t count = sequence - position_.sequence;
  reporter_(fmt::format("{}: {} messages are missing or unreadable", files_.shown(segment), count));
  damaged_.insert(segment);
  missing_ += count;
  position_.sequence = sequence;
}

/// Opens the segment of position_, or the next existing segment. Returns false if neither exists.
Result<bool> SegmentReader::open() {
  auto opened = files_.system().open(files_.segment(position_.segment), FileUse::kRead);
  if (!opened && opened.error().code == ErrorCode::kNotFound) return open_next();
  if (!opened) return std::unexpected(opened.error());
  file_ = std::move(*opened);
  QUARRY_TRY_ASSIGN(const std::uint64_t size, file_->size());
  if (size < position_.offset) {
    report_damage(
        fmt::format("the file was read up to offset {}, but is now shorter", position_.offset));
  }
  return true;
}

/// Advances from the segment of position_ to the next segment. Returns false if the next segment
/// does not exist yet.
Result<bool> SegmentReader::open_next() {
  QUARRY_TRY_ASSIGN(const auto numbers, files_.segments());
  const auto next = std::ranges::upper_bound(numbers, position_.segment);
  if (next == numbers.end()) return false;
  auto opened = files_.system().open(files_.segment(*next), FileUse::kRead);
  // If the reader of the queue has just removed the segment, try the next one.
  if (!opened && opened.error().code == ErrorCode::kNotFound) return open_next();
  if (!opened) return std::unexpected(opened.error());
  file_ = std::move(*opened);
  before_ = std::exchange(position_.segment, *next);
  position_.offset = 0;
  buffer_.clear();
  used_ = 0;
  has_next_ = is_damaged_ = false;
  return true;
}

/// Reads until WANTED bytes are buffered or the file ends.
Result<void> SegmentReader::fill(std::size_t wanted) {
  if (ahead().size() >= wanted) return {};
  buffer_.erase(0, used_);
  used_ = 0;
  const std::size_t had = buffer_.size();
  std::size_t size = std::max(wanted, at_once_);
  if (written_ != nullptr) {
    const std::uint64_t end = written_->of(position_.segment);
    const std::uint64_t left = end > position_.offset ? end - position_.offset : 0;
    size = std::max<std::size_t>(had, std::min<std::uint64_t>(size, left));
  }
  buffer_.resize(size);
  const auto count = file_->read_at(position_.offset + had, std::span<char>(buffer_).subspan(had));
  buffer_.resize(had + count.value_or(0));
  if (!count) return std::unexpected(count.error());
  at_once_ = buffer_.size() == size ? std::min(2 * at_once_, kLargestRead) : kMinAtOnce;
  return {};
}

/// Reads the segment's header. Returns false if the header is incomplete or damaged.
Result<bool> SegmentReader::read_header() {
  QUARRY_TRY(fill(kSegmentHeader));
  if (ahead().size() < kSegmentHeader) return false;
  const auto header = decode_header(ahead());
  if (!header || header->number != position_.segment) {
    report_damage(header ? "the number in the header does not match the file name"
                         : header.error().message);
    return false;
  }
  if (position_.sequence != 0) {
    // If messages are missing between two segments with consecutive numbers, the first segment is
    // damaged. If segments between them are missing, report the last missing segment, because the
    // first segment might be undamaged.
    const bool is_next = position_.segment == before_ + 1;
    give_up_until(header->first, is_next ? before_ : position_.segment - 1);
  }
  position_.sequence = header->first;
  position_.offset = used_ = kSegmentHeader;
  return true;
}

Result<RecordView> SegmentReader::read_record() {
  if (is_damaged_) return RecordView{};
  if (position_.offset < kSegmentHeader) {
    QUARRY_TRY_ASSIGN(const bool is_whole, read_header());
    if (!is_whole) return RecordView{};
  }
  QUARRY_TRY(fill(kRecordHeader));
  const RecordView record = decode_record(ahead(), position_.segment, position_.sequence);
  if (record.state != RecordState::kCutOff || ahead().size() < kRecordHeader) return record;
  QUARRY_TRY(fill(record.bytes));
  return decode_record(ahead(), position_.segment, position_.sequence);
}

/// Handles the end of the readable records. Returns true to try again.
Result<bool> SegmentReader::go_on() {
  if (!has_next_ && !is_damaged_) {
    QUARRY_TRY_ASSIGN(const auto numbers, files_.segments());
    has_next_ = !numbers.empty() && numbers.back() > position_.segment;
    // Read the last bytes again, because the writer might have replaced a partial record.
    buffer_.clear();
    used_ = 0;
    // If the next segment exists, the writer has finished this segment. Read the rest.
    return has_next_;
  }
  report_rest(reporter_);
  return open_next();
}

/// Reports the bytes after the last message of the segment.
void SegmentReader::report_rest(const Reporter& reporter) {
  if (ahead().empty() || is_damaged_) return;
  reporter(fmt::format("{}: the last message is incomplete; skipping it",
                       files_.shown(position_.segment)));
}

Result<void> SegmentReader::report_incomplete(const Reporter& reporter) {
  Message message;
  QUARRY_TRY_ASSIGN(const bool has_one, next(UINT64_MAX, message));
  if (has_one || !file_) return {};
  QUARRY_TRY(fill(1));
  report_rest(reporter);
  return {};
}

Result<bool> SegmentReader::next(std::uint64_t end, Message& message) {
  while (position_.sequence < end || position_.sequence == 0) {
    if (!file_) {
      QUARRY_TRY_ASSIGN(const bool is_there, open());
      if (!is_there) return false;
    }
    QUARRY_TRY_ASSIGN(const RecordView record, read_record());
    if (record.state == RecordState::kWhole) {
      // Check END again, because reading a header might have moved the position to END or beyond.
      if (position_.sequence >= end) return false;
      message.content = record.content;
      message.severity = record.severity;
      used_ += record.bytes;
      position_.offset += record.bytes;
      ++position_.sequence;
      return true;
    }
    if (record.state == RecordState::kDamaged) {
      report_damage(fmt::format("the record at offset {} is damaged", position_.offset));
    }
    QUARRY_TRY_ASSIGN(const bool again, go_on());
    if (!again) return false;
  }
  return false;
}

}  // namespace quarry::spool
