// A log of messages in segment files (segment_format.h). The disk queue, a stream and the journal of
// each subscription have one each.
//
// A new process measures the segments that it finds, looks for the end of the log, and appends after
// it in a new segment. Segments are removed from the front; a damaged one is kept under another name.
//
// One thread may append while another one removes. The end may be read from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "disk_usage.h"
#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/spool/queue.h"
#include "spool_files.h"

namespace quarry::spool {

class SegmentLog {
 public:
  struct Limits {
    std::uint64_t file_size = UINT64_MAX;  // bytes of a segment, but for the last message of it
    std::uint64_t disk_space = 0;          // bytes of all segments; 0: no limit
  };
  SegmentLog(SpoolFiles files, Reporter reporter, Limits limits)
      : files_(std::move(files)), reporter_(std::move(reporter)), limits_(limits) {}

  /// Finds the end of the log. REACHED is where its furthest reader has got to. That may be after the
  /// end, when the machine has stopped and lost messages: their numbers are not used again. Errors:
  /// those of the file system.
  base::Result<void> recover(const Position& reached);
  /// Begins an empty log, whose first message will be at BEGINNING.
  void begin_at(const Position& beginning);

  // --- appending

  /// Appends MESSAGES. When this returns they are in the files, and on the disk if the files are
  /// synced. Returns how many were appended, from the first on; if that is not all of them, *error is
  /// set, and nothing of the others is in the files.
  std::size_t append(std::span<const Message> messages, base::Error* error);
  /// Puts MESSAGES before all others, in a segment of their own at FRONT: all of them, or none.
  /// Errors: those of the file system.
  base::Result<void> prepend(std::span<const Message> messages, const Position& front);
  /// Syncs the last segment, but not its name. For an owner that decides each time.
  base::Result<void> sync() { return file_ ? file_->sync() : base::Result<void>{}; }
  /// Errors: kNotFound, the segment that was written last is no longer in the folder.
  base::Result<void> check_folder() const;
  /// Begins a new segment if the last one has messages, so that a reader can remove that.
  void make_way();
  /// Ends the last segment. Returns where the next message will be.
  Position cut();
  /// Where the next segment and the next message will be.
  Position next() const { return {.segment = next_number_, .offset = 0, .sequence = sequence_}; }

  // --- from any thread

  /// The sequence number after the last message that can be read.
  std::uint64_t end() const { return end_.load(std::memory_order_acquire); }
  /// The next message goes into a new segment, because the last one is damaged.
  void begin_segment() { begins_segment_.store(true); }
  /// The size of each segment; more may have been written, but may be taken back.
  const DiskUsage& usage() const { return usage_; }
  const SpoolFiles& files() const { return files_; }

  // --- removing

  /// Marks SEGMENTS as damaged: they are renamed, not removed.
  void note_damaged(const std::set<std::uint64_t>& segments) {
    damaged_.insert(segments.begin(), segments.end());
  }
  /// Removes the segments before NUMBER, the first ones first. Errors: those of the file system.
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

  // --- of the thread that appends
  std::uint64_t next_number_ = 1;
  std::uint64_t sequence_ = 0;  // of the next message
  std::unique_ptr<base::File> file_;
  std::uint64_t number_ = 0;  // of file_
  std::uint64_t size_ = 0;    // of file_; 0: its header could not be written yet
  std::string buffer_;
};

/// The sequence number after the last readable message in FILES, not below that of START, where
/// reading goes on. Errors: those of the file system.
base::Result<std::uint64_t> find_end(const SpoolFiles& files, const Position& start);

}  // namespace quarry::spool
