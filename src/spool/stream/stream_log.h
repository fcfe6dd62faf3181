// The messages of a stream, in segments. A segment is removed when no subscription needs it.
//
// Group commit: one caller writes and syncs for all waiting callers. The mutex is not held during
// the write, nor while a subscription reads. Subscriptions are allowed to call these functions
// while they hold their own mutex, because this class never calls a subscription.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "quarry/base/result.h"
#include "quarry/spool/stream.h"
#include "segments/segment_log.h"
#include "subscription_state.h"
#include "threading.h"

namespace quarry::spool {

class StreamLog {
 public:
  /// Opens the segments in FILES. append() then continues after the last existing message, or at the
  /// furthest read position in SUBSCRIPTIONS (by name) if that is later. If a crash of the machine
  /// has lost messages that a subscription had read, their ids must not be reused. Errors: file
  /// system errors.
  static Result<std::unique_ptr<StreamLog>> open(
      const SpoolFiles& files, const StreamOptions& options, const Reporter& reporter,
      const std::map<std::string, SubscriptionState>& subscriptions);

  /// Appends MESSAGES, which are moved. Returns the sequence number of the first message. After an
  /// error, the log might contain some of MESSAGES, beginning with the first. Errors: file system
  /// errors.
  Result<std::uint64_t> append(std::span<Message> messages);

  /// Returns the sequence number of the next message. All earlier messages are readable.
  std::uint64_t end() const {
    step();
    return log_.end();
  }
  /// Starts a new segment with the next message, and returns its position.
  Position cut();
  /// Called when the last segment is damaged. The next message starts a new segment.
  void begin_segment() { log_.begin_segment(); }

  /// Records that SUBSCRIPTION needs the segment FLOOR and all later segments. Removes the segments
  /// that no subscription needs.
  void set_floor(const std::string& subscription, std::uint64_t floor);
  void forget(const std::string& subscription);
  /// Marks damaged segments. Damaged segments will be renamed instead of removed.
  void note_damaged(const std::set<std::uint64_t>& segments);

  const SpoolFiles& files() const { return log_.files(); }
  /// Returns the committed size of each segment.
  const DiskUsage& written() const { return log_.usage(); }

 private:
  struct Waiting;  // a caller of append()

  StreamLog(const SpoolFiles& files, const StreamOptions& options, const Reporter& reporter)
      : log_(files, reporter,
             {.file_size = options.max_file_size, .disk_space = options.max_disk_space}),
        reporter_(reporter) {}
  void write_group(Lock& lock);
  void write(std::deque<Waiting*>& group);
  void remove_unneeded();

  SegmentLog log_;  // append: by the writing thread; remove: under floors_mutex_
  Reporter reporter_;

  Mutex mutex_;
  Condition changed_;  // a group was written
  std::deque<Waiting*> group_;
  bool is_writing_ = false;

  Mutex floors_mutex_;  // last in the lock order
  std::map<std::string, std::uint64_t> floors_;
};

}  // namespace quarry::spool
