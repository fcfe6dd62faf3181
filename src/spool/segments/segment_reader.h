// Reads messages from consecutive segments. Skips damage. Not thread-safe, but another thread or
// process can write at the same time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "quarry/base/file_system.h"
#include "quarry/spool/queue.h"
#include "spool_files.h"
#include "threading.h"

namespace quarry::spool {

/// The committed size of each segment in bytes. The writer and the thread that removes segments
/// share it.
class DiskUsage {
 public:
  void set(std::uint64_t segment, std::uint64_t bytes) {
    const Lock lock(mutex_);
    total_ += bytes - bytes_[segment];
    bytes_[segment] = bytes;
  }
  void remove(std::uint64_t segment) {
    const Lock lock(mutex_);
    const auto found = bytes_.find(segment);
    if (found == bytes_.end()) return;
    total_ -= found->second;
    bytes_.erase(found);
  }
  std::uint64_t total() const {
    const Lock lock(mutex_);
    return total_;
  }
  std::uint64_t of(std::uint64_t segment) const {
    const Lock lock(mutex_);
    const auto found = bytes_.find(segment);
    return found == bytes_.end() ? 0 : found->second;
  }
  std::map<std::uint64_t, std::uint64_t> segments() const {
    const Lock lock(mutex_);
    return bytes_;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> bytes_;
  std::uint64_t total_ = 0;
};

class SegmentReader {
 public:
  /// Creates a reader that starts at START and skips missing segments. WRITTEN contains the
  /// committed size of each segment from a writer in this process. WRITTEN is not owned and can be
  /// null. Bytes after that size are ignored, because the writer might remove them.
  SegmentReader(SpoolFiles files, Reporter reporter, Position start,
                const DiskUsage* written = nullptr);

  /// Reads the next message before sequence number END into MESSAGE. Returns false if the message
  /// does not exist yet. Damage is reported and skipped. Errors: file system errors.
  Result<bool> next(std::uint64_t end, Message& message);
  /// Reports an incomplete message at the end of the last segment to REPORTER. Call this function
  /// after all messages were read, and only if no other process is writing. Errors: file system
  /// errors.
  Result<void> report_incomplete(const Reporter& reporter);
  /// Returns the position after the last message.
  const Position& position() const { return position_; }
  /// Skips the messages before SEQUENCE, because SEGMENT is damaged.
  void give_up_until(std::uint64_t sequence, std::uint64_t segment);

  /// Returns the damaged segments, whose readable part was read.
  const std::set<std::uint64_t>& damaged() const { return damaged_; }
  /// Returns the number of unreadable messages.
  std::uint64_t missing() const { return missing_; }

 private:
  Result<bool> open();
  Result<bool> open_next();
  Result<bool> read_header();
  Result<RecordView> read_record();
  Result<bool> go_on();
  Result<void> fill(std::size_t wanted);
  std::string_view ahead() const { return std::string_view(buffer_).substr(used_); }
  void report_damage(const std::string& what);
  void report_rest(const Reporter& reporter);

  SpoolFiles files_;
  Reporter reporter_;
  const DiskUsage* written_;
  Position position_;
  std::uint64_t before_ = 0;          // segment before the segment of position_
  std::unique_ptr<base::File> file_;  // segment of position_
  std::string buffer_;                // bytes of the file, some of which are consumed
  std::size_t used_ = 0;
  std::size_t at_once_;      // size of the next read
  bool is_damaged_ = false;  // the rest of the segment is damaged
  // Whether the next segment existed before the end of this one was read.
  bool has_next_ = false;
  std::set<std::uint64_t> damaged_;
  std::uint64_t missing_ = 0;
};

}  // namespace quarry::spool
