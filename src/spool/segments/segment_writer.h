// Appends messages to segments, and begins another where one is full. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "disk_usage.h"
#include "quarry/base/file_system.h"
#include "spool_files.h"

namespace quarry::spool {

class SegmentWriter {
 public:
  struct Limits {
    std::uint64_t file_size;
    std::uint64_t disk_space;  // 0: none
  };
  /// The first segment will be NUMBER, its first message the SEQUENCE-th. USAGE is not owned.
  SegmentWriter(SpoolFiles files, Limits limits, DiskUsage& usage, std::uint64_t number,
                std::uint64_t sequence);

  /// Appends MESSAGES. When this returns they are in the files, and durable where the queue is to
  /// be. Returns how many, from the first on; less than all only with *error set, and then nothing
  /// of the others is there.
  std::size_t append(std::span<const Message> messages, base::Error* error);
  /// Errors: kNotFound, what was written last is no longer in the folder.
  base::Result<void> check_place() const;
  /// What was appended to the last segment is on the disk; its name may not be. For files whose owner
  /// decides each time.
  base::Result<void> sync() { return file_ ? file_->sync() : base::Result<void>{}; }
  /// The next message begins a segment.
  void finish() { file_.reset(); }
  /// Ends a segment with messages: a reader can free it once there is another.
  void make_way();

  /// Of the next message.
  std::uint64_t sequence() const { return sequence_; }
  /// Of the next segment.
  std::uint64_t next_number() const { return next_number_; }

 private:
  base::Result<void> begin();
  base::Result<std::size_t> append_some(std::span<const Message> messages);
  base::Result<void> check_space(std::uint64_t bytes);
  std::size_t keep_whole(std::span<const Message> messages);
  std::uint64_t room() const;

  SpoolFiles files_;
  Limits limits_;
  DiskUsage& usage_;
  std::uint64_t next_number_;
  std::uint64_t sequence_;
  std::unique_ptr<base::File> file_;
  std::uint64_t number_ = 0;  // of file_
  std::uint64_t size_ = 0;    // of file_; 0: its header could not be written yet
  std::string buffer_;
};

}  // namespace quarry::spool
