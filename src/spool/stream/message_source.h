// What one subscription reads of the stream's segments: the messages to come, one after the other,
// and again those that it knows the places of. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "envelope.h"
#include "quarry/base/result.h"
#include "quarry/spool/subscription.h"
#include "segments/disk_usage.h"
#include "segments/segment_reader.h"
#include "segments/spool_files.h"

namespace quarry::spool {

class MessageSource {
 public:
  /// For SUBSCRIPTION; "": for nobody, who sees all. WRITTEN (not owned; may be none) as in
  /// SegmentReader.
  MessageSource(SpoolFiles files, Reporter reporter, std::string subscription,
                const DiskUsage* written)
      : files_(std::move(files)),
        reporter_(std::move(reporter)),
        subscription_(std::move(subscription)),
        written_(written) {}

  /// Messages to come begin at START.
  void start_at(const Position& start) { fresh_.emplace(files_, reporter_, start, written_); }

  struct NextMessage {
    StreamedMessage message;
    Position at;
  };
  /// The next message before the sequence number END. Nothing: there is none. Errors: what the disk
  /// says.
  base::Result<std::optional<NextMessage>> next(std::uint64_t end);
  /// Behind what next() has looked at.
  const Position& position() const { return fresh_->position(); }
  /// Nothing before END will come any more.
  void give_up_until(std::uint64_t end) { fresh_->give_up_until(end, position().segment); }
  /// Messages that next() has found to be lost since it was asked for the last time.
  std::uint64_t take_missing();
  /// Segments that were found to be damaged.
  const std::set<std::uint64_t>& damaged() const { return fresh_->damaged(); }

  /// The message SEQUENCE, which is at AT or behind it. Nothing: it cannot be read, or is for
  /// another subscription. Errors: what the disk says.
  base::Result<std::optional<StreamedMessage>> find(std::uint64_t sequence, const Position& at);
  /// Where the message is that find() has found last.
  const Position& found_at() const { return found_at_; }

 private:
  bool is_for_us(const Envelope& envelope) const {
    return envelope.only.empty() || subscription_.empty() || envelope.only == subscription_;
  }

  SpoolFiles files_;
  Reporter reporter_;
  std::string subscription_;
  const DiskUsage* written_;
  std::optional<SegmentReader> fresh_;
  std::uint64_t missing_ = 0;           // of fresh_, told already
  std::optional<SegmentReader> again_;  // where find() has been
  Position found_at_;
  Message record_;
};

}  // namespace quarry::spool
