// A log of messages in segment files (segment_format.h). Each disk queue, each stream, and each
// subscription's journal has a log.
//
// A new process measures the existing segments, searches for the end of the log, and appends to a
// new segment. Segments are removed from the front. A damaged segment is kept under another name.
//
// One thread can append while another thread removes segments. Any thread can call end().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/spool/queue.h"
#include "segment_reader.h"
#include "spool_files.h"

namespace quarry::spool {

class SegmentLog {
 public:
  struct Limits {
    /// Maximum size of a segment in bytes. The last message of a segment can exceed the limit.
    std::uint64_t file_size = UINT64_MAX;
    std::uint64_t disk_space = 0;  // maximum size of all segments in bytes; 0: no limit
  };
  SegmentLog(SpoolFiles files, Reporter reporter, Limits limits)
      : files_(std::move(files)), reporter_(std::move(reporter)), limits_(limits) {}

  /// Finds the end of the log. REACHED is the position of the log's furthest reader. If a crash of
  /// the machine has lost messages, REACHED can be after the end; the numbers of the lost messages
  /// are not reused. Errors: file system errors.
  Result<void> recover(const Position& reached);
  /// Starts an empty log. The first message will have the position BEGINNING.
  void begin_at(const Position& beginning);

  // --- appending

  /// Appends MESSAGES. On return, the messages are in the files or, if the files are synced, on
  /// disk. Returns the number of appended messages, counted from the first. If some were not
  /// appended, sets *error; those messages are not in the files.
  std::size_t append(std::span<const Message> messages, Error* error);
  /// Adds MESSAGES before all others, in a separate segment at FRONT: all of them or none. Errors:
  /// file system errors.
  Result<void> prepend(std::span<const Message> messages, const Position& front);
  /// Syncs the last segment, but not its name. Called by owners that do not sync each append.
  Result<void> sync() { return file_ ? file_->sync() : Result<void>{}; }
  /// Checks that the current segment is still in the directory. Errors: kNotFound.
  Result<void> check_folder() const;
  /// Starts a new segment if the last segment has messages. A reader can then remove the previous
  /// segment.
  void rotate();
  /// Ends the last segment and returns the position of the next message.
  Position cut();
  /// Returns the position of the next message, in the next segment.
  Position next() const { return {.segment = next_number_, .offset = 0, .sequence = sequence_}; }

  // --- any thread

  /// Returns the sequence number after the last readable message.
  std::uint64_t end() const { return end_.load(std::memory_order_acquire); }
  /// Called when the last segment is damaged. The next message starts a new segment.
  void begin_segment() { begins_segment_.store(true); }
  /// Returns the committed size of each segment. The files can contain more bytes that are not
  /// committed.
  const DiskUsage& usage() const { return usage_; }
  const SpoolFiles& files() const { return files_; }

  // --- removing

  /// Marks SEGMENTS as damaged. Damaged segments will be renamed instead of removed.
  void note_damaged(const std::set<std::uint64_t>& segments) {
    damaged_.insert(segments.begin(), segments.end());
  }
  /// Removes the segments before NUMBER, oldest first. Errors: file system errors.
  Result<void> remove_before(std::uint64_t number);

 private:
  Result<void> begin_file();
  Result<std::size_t> append_some(std::span<const Message> messages);
  Result<void> check_space(std::uint64_t bytes);
  std::size_t keep_whole(std::span<const Message> messages);
  std::uint64_t room() const;

  SpoolFiles files_;
  Reporter reporter_;
  Limits limits_;
  DiskUsage usage_;
  std::atomic<std::uint64_t> end_{0};
  std::atomic<bool> begins_segment_{false};
  std::set<std::uint64_t> damaged_;

  // --- used by the appending thread
  std::uint64_t next_number_ = 1;
  std::uint64_t sequence_ = 0;  // sequence number of the next message
  std::unique_ptr<base::File> file_;
  std::uint64_t number_ = 0;  // number of the segment in file_
  std::uint64_t size_ = 0;    // size of file_; 0 before the header is written
  std::string buffer_;
};

/// Returns the sequence number after the last readable message in FILES. If the sequence number of
/// START, the read position, is higher, returns that number. Errors: file system errors.
Result<std::uint64_t> find_end(const SpoolFiles& files, const Position& start);

/// Reports an incomplete message at the end of the last segment. Call this function only if no
/// other process is writing. Errors: file system errors.
Result<void> report_incomplete(const SpoolFiles& files, const Reporter& reporter);
/// Calls report_incomplete() unless a process is writing or the lock file cannot be read.
Result<void> report_incomplete_if_idle(const SpoolFiles& files, const Reporter& reporter);

}  // namespace quarry::spool
