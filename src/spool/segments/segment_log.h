// A log of messages in segment files (segment_format.h). Each disk queue, each stream, and the
// journal of each subscription has its own log.
//
// A new process measures the segments that it finds, searches for the end of the log, and appends
// after it in a new segment. Segments are removed from the front. A damaged segment is kept under
// another name.
//
// One thread may append while another one removes segments. Any thread may read the end.
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
    std::uint64_t file_size = UINT64_MAX;  // bytes of a segment; its last message may exceed this
    std::uint64_t disk_space = 0;          // bytes of all segments; 0: no limit
  };
  SegmentLog(SpoolFiles files, Reporter reporter, Limits limits)
      : files_(std::move(files)), reporter_(std::move(reporter)), limits_(limits) {}

  /// Finds the end of the log. REACHED is the position of its furthest reader. It may be after the
  /// end if messages were lost in a crash of the machine: their numbers are not used again. Errors:
  /// file system errors.
  base::Result<void> recover(const Position& reached);
  /// Starts an empty log whose first message will be at BEGINNING.
  void begin_at(const Position& beginning);

  // --- appending

  /// Appends MESSAGES. When the function returns, they are in the files, and on disk if the files
  /// are synced. Returns the number appended, counted from the first. If not all were, sets *error;
  /// the others leave no trace.
  std::size_t append(std::span<const Message> messages, base::Error* error);
  /// Puts MESSAGES before all others, in their own segment at FRONT: either all of them or none.
  /// Errors: file system errors.
  base::Result<void> prepend(std::span<const Message> messages, const Position& front);
  /// Syncs the last segment, but not its name. For owners that do not sync each append.
  base::Result<void> sync() { return file_ ? file_->sync() : base::Result<void>{}; }
  /// Checks that the current segment is still in the directory. Errors: kNotFound.
  base::Result<void> check_folder() const;
  /// Starts a new segment if the last one has messages, so that a reader can remove the last one.
  void rotate();
  /// Ends the last segment and returns the position of the next message.
  Position cut();
  /// Returns the position of the next message, in the next segment.
  Position next() const { return {.segment = next_number_, .offset = 0, .sequence = sequence_}; }

  // --- may be called in any thread

  /// Returns the sequence number after the last readable message.
  std::uint64_t end() const { return end_.load(std::memory_order_acquire); }
  /// Makes the next message start a new segment, because the last one is damaged.
  void begin_segment() { begins_segment_.store(true); }
  /// Returns the committed size of each segment. More may be written, but that may be taken back.
  const DiskUsage& usage() const { return usage_; }
  const SpoolFiles& files() const { return files_; }

  // --- removing

  /// Marks SEGMENTS as damaged, so that they are renamed instead of removed.
  void note_damaged(const std::set<std::uint64_t>& segments) {
    damaged_.insert(segments.begin(), segments.end());
  }
  /// Removes the segments before NUMBER, oldest first. Errors: file system errors.
  base::Result<void> remove_before(std::uint64_t number);

 private:
  base::Result<void> begin_file();
  base::Result<std::size_t> append_some(std::span<const Message> messages);
  base::Result<void> check_space(std::uint64_t bytes);
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
  std::uint64_t size_ = 0;    // size of file_; 0 if its header could not be written yet
  std::string buffer_;
};

/// Returns the sequence number after the last readable message in FILES, or that of START, the read
/// position, if it is higher. Errors: file system errors.
base::Result<std::uint64_t> find_end(const SpoolFiles& files, const Position& start);

}  // namespace quarry::spool
