#include "segment_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace quarry::spool {

using base::ErrorCode;
using base::fail;
using base::FileUse;
using base::Result;

namespace {

// One write(2) is not to need more memory than this, but for one message that is larger.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;

}  // namespace

SegmentWriter::SegmentWriter(SpoolFiles files, Limits limits, DiskUsage& usage,
                             std::uint64_t number, std::uint64_t sequence)
    : files_(std::move(files)),
      limits_(limits),
      usage_(usage),
      next_number_(number),
      sequence_(sequence) {}

Result<void> SegmentWriter::begin() {
  if (file_ && size_ < limits_.file_size) return {};
  QUARRY_TRY(check_space(kSegmentHeader));
  file_.reset();
  auto made = files_.system().open(files_.segment(next_number_), FileUse::kMake);
  // What is in the way is not ours to overwrite: somebody copied files here.
  while (!made && made.error().code == ErrorCode::kBusy) {
    made = files_.system().open(files_.segment(++next_number_), FileUse::kMake);
  }
  if (!made) return std::unexpected(made.error());
  const std::uint64_t number = next_number_++;
  const auto written = (*made)->append(encode(SegmentHeader{.number = number, .first = sequence_}));
  if (!written) {
    if (auto removed = files_.remove(number); !removed) return removed;
    return written;
  }
  QUARRY_TRY(files_.sync_names());
  file_ = std::move(*made);
  number_ = number;
  size_ = kSegmentHeader;
  usage_.set(number_, size_);
  return {};
}

Result<void> SegmentWriter::check_space(std::uint64_t bytes) {
  if (limits_.disk_space == 0 || usage_.total() + bytes <= limits_.disk_space) return {};
  // Another process may read, and have removed segments.
  QUARRY_TRY_ASSIGN(const auto there, files_.segments());
  for (const auto& [number, size] : usage_.segments()) {
    if (!std::ranges::binary_search(there, number)) usage_.remove(number);
  }
  if (usage_.total() + bytes <= limits_.disk_space) return {};
  return fail(ErrorCode::kNoSpace, fmt::format("{}: queue.maxdiskspace ({} bytes) is used up",
                                               files_.shown(next_number_ - 1), limits_.disk_space));
}

Result<std::size_t> SegmentWriter::append_some(std::span<const Message> messages) {
  QUARRY_TRY(begin());
  buffer_.clear();
  std::size_t count = 0;
  while (count < messages.size() && buffer_.size() < kMostAtOnce &&
         size_ + buffer_.size() < limits_.file_size) {
    encode(buffer_, number_, sequence_ + count, messages[count]);
    ++count;
  }
  QUARRY_TRY(check_space(buffer_.size()));
  auto written = file_->append(buffer_);
  if (written && files_.is_synced()) written = file_->sync();
  if (!written) {
    // What cannot be taken back may be delivered though its producer was told otherwise; its
    // sequence numbers are used up, so that it is nobody else.
    if (!file_->truncate(size_)) {
      sequence_ += count;
      finish();
    }
    return std::unexpected(written.error());
  }
  size_ += buffer_.size();
  sequence_ += count;
  usage_.set(number_, size_);
  return count;
}

std::size_t SegmentWriter::append(std::span<const Message> messages, base::Error* error) {
  std::size_t done = 0;
  while (done < messages.size()) {
    const auto count = append_some(messages.subspan(done));
    if (!count) {
      *error = count.error();
      break;
    }
    done += *count;
  }
  return done;
}

}  // namespace quarry::spool
