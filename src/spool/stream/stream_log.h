// The one copy of a stream's messages: segments that everybody appends to, and that go when every
// subscription is past them.
//
// Appending: one caller writes, and syncs, for all that wait. Its mutex is not held while that is
// so, and never while a subscription reads. A subscription may call everything here under a mutex of
// its own; nothing here calls a subscription.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/spool/stream.h"
#include "segments/segment_log.h"
#include "threading.h"

namespace quarry::spool {

class StreamLog {
 public:
  /// Of a subscription, when the stream is opened.
  struct SubscriptionProgress {
    Position read;            // never taken from there on
    std::uint64_t floor = 0;  // the oldest segment that it needs
  };
  /// Opens the segments in FILES, to go on behind them and behind what SUBSCRIPTIONS, by their names,
  /// have read: that may have been lost with the machine, and its ids must not come again. Errors:
  /// what the disk says.
  static base::Result<std::unique_ptr<StreamLog>> open(
      const SpoolFiles& files, const StreamOptions& options, const Reporter& reporter,
      const std::map<std::string, SubscriptionProgress>& subscriptions);

  /// Appends MESSAGES, which are moved. Returns the sequence number of the first. Errors: what the
  /// disk says; some of them, from the first on, may be there then.
  base::Result<std::uint64_t> append(std::span<Message> messages);

  /// The sequence number of the next message: what is before it can be read.
  std::uint64_t end() const {
    step();
    return log_.end();
  }
  /// The next message begins a segment. Returns where that will be.
  Position cut();
  /// The next message begins a segment: the last one is damaged.
  void begin_segment() { log_.begin_segment(); }

  /// SUBSCRIPTION, by its name, needs the segment FLOOR and those after it. Those that nobody needs
  /// any more are removed.
  void set_floor(const std::string& subscription, std::uint64_t floor);
  void forget(const std::string& subscription);
  /// Segments that somebody found to be damaged: they are kept under another name when they go.
  void note_damaged(const std::set<std::uint64_t>& segments);

  std::uint64_t bytes() const { return log_.usage().total(); }
  const SpoolFiles& files() const { return log_.files(); }
  /// How much of each segment is written for good.
  const DiskUsage& written() const { return log_.usage(); }

 private:
  struct Waiting;  // who appends

  StreamLog(const SpoolFiles& files, const StreamOptions& options, const Reporter& reporter)
      : log_(files, reporter,
             {.file_size = options.max_file_size, .disk_space = options.max_disk_space}),
        reporter_(reporter) {}
  void write_group(Lock& lock);
  void write(std::deque<Waiting*>& group);
  void remove_unneeded();

  SegmentLog log_;  // the thread that writes appends; the one that has floors_mutex_ removes
  Reporter reporter_;

  Mutex mutex_;
  Condition changed_;  // a group was written
  std::deque<Waiting*> group_;
  bool is_writing_ = false;

  Mutex floors_mutex_;  // taken last
  std::map<std::string, std::uint64_t> floors_;
};

}  // namespace quarry::spool
