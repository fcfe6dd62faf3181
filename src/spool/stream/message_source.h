// Reads the segments of a stream for one subscription: new messages in sequence, and earlier
// messages at known positions. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "envelope.h"
#include "quarry/base/result.h"
#include "quarry/spool/subscription.h"
#include "segments/segment_reader.h"
#include "segments/spool_files.h"

namespace quarry::spool {

class MessageSource {
 public:
  /// Creates a source for SUBSCRIPTION, or for all messages if it is "". For WRITTEN, see
  /// SegmentReader.
  MessageSource(SpoolFiles files, Reporter reporter, std::string subscription,
                const DiskUsage* written)
      : files_(std::move(files)),
        reporter_(std::move(reporter)),
        subscription_(std::move(subscription)),
        written_(written) {}

  /// Continues with new messages at START.
  void start_at(const Position& start) { fresh_.emplace(files_, reporter_, start, written_); }

  struct NextMessage {
    StreamedMessage message;
    Position at;
  };
  /// Returns the next message before sequence number END, or nullopt. Errors: file system errors.
  Result<std::optional<NextMessage>> next(std::uint64_t end);
  /// Returns the position after the last record that next() has read.
  const Position& position() const { return fresh_->position(); }
  /// Skips the messages before END.
  void give_up_until(std::uint64_t end) { fresh_->give_up_until(end, position().segment); }
  /// Returns the number of messages that next() has found missing since the last call.
  std::uint64_t take_missing();
  /// Returns the segments in which damage was found.
  const std::set<std::uint64_t>& damaged() const { return fresh_->damaged(); }

  /// Returns the message SEQUENCE, which is at or after AT. Returns nullopt if the message is
  /// unreadable or for another subscription. Errors: file system errors.
  Result<std::optional<StreamedMessage>> find(std::uint64_t sequence, const Position& at);
  /// Returns the position of the last result of find().
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
  std::uint64_t missing_ = 0;           // missing messages of fresh_ that were already counted
  std::optional<SegmentReader> again_;  // reader for find()
  Position found_at_;
  Message record_;
};

}  // namespace quarry::spool
