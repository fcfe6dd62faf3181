// Reads messages from segments, one after the other, and finds its way around what is damaged. One
// thread at a time; another one, or another process, may be writing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "disk_usage.h"
#include "quarry/base/file_system.h"
#include "quarry/spool/queue.h"
#include "spool_files.h"

namespace quarry::spool {

class SegmentReader {
 public:
  /// From START on; a segment that is not there is passed over. WRITTEN (not owned; may be none):
  /// how much of each segment is written for good, by a writer in this process. What lies beyond is
  /// not looked at: it may be taken back.
  SegmentReader(SpoolFiles files, Reporter reporter, Position start,
                const DiskUsage* written = nullptr);

  /// Reads the next message before the sequence number END into MESSAGE. False: there is none now.
  /// What is damaged is told to the reporter, and passed over. Errors: what the disk says.
  base::Result<bool> next(std::uint64_t end, Message& message);
  /// Behind the message that was read last.
  const Position& position() const { return position_; }
  /// No message before SEQUENCE will come any more, since SEGMENT is not what it must be.
  void give_up_until(std::uint64_t sequence, std::uint64_t segment);

  /// Segments that were found to be damaged, and read as far as they can be.
  const std::set<std::uint64_t>& damaged() const { return damaged_; }
  /// Messages that were there once, and cannot be read.
  std::uint64_t missing() const { return missing_; }

 private:
  base::Result<bool> open();
  base::Result<bool> open_next();
  base::Result<bool> read_header();
  base::Result<RecordView> read_record();
  base::Result<bool> go_on();
  base::Result<void> fill(std::size_t wanted);
  std::string_view ahead() const { return std::string_view(buffer_).substr(used_); }
  void report_damage(const std::string& what);

  SpoolFiles files_;
  Reporter reporter_;
  const DiskUsage* written_;
  Position position_;
  std::uint64_t before_ = 0;          // the segment before that of position_
  std::unique_ptr<base::File> file_;  // the segment of position_
  std::string buffer_;                // from it; what was used up, and what comes at position_
  std::size_t used_ = 0;
  std::size_t at_once_;      // bytes to read
  bool is_damaged_ = false;  // the segment of position_, from there on
  // The segment after this one was there before this one was read to its end.
  bool has_next_ = false;
  std::set<std::uint64_t> damaged_;
  std::uint64_t missing_ = 0;
};

}  // namespace quarry::spool
