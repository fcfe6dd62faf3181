// The messages of a stream: segments that all callers append to. A segment is removed when all
// subscriptions have passed it.
//
// Group commit: one caller writes and syncs for all callers that wait. The mutex is not held
// meanwhile, and never while a subscription reads. Subscriptions may call these functions while
// they hold their own mutex, because nothing here calls a subscription.
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
#include "subscription_state.h"
#include "threading.h"

namespace quarry::spool {

class StreamLog {
 public:
  /// Opens the segments in FILES, and appends after them and after what SUBSCRIPTIONS (by name)
  /// have read: if such messages were lost in a crash of the machine, their ids must not be used
  /// again. Errors: file system errors.
  static base::Result<std::unique_ptr<StreamLog>> open(
      const SpoolFiles& files, const StreamOptions& options, const Reporter& reporter,
      const std::map<std::string, SubscriptionState>& subscriptions);

  /// Appends MESSAGES, which are moved. Returns the sequence number of the first. Errors: file
  /// system errors; after an error, the first of the messages may be in the log.
  base::Result<std::uint64_t> append(std::span<Message> messages);

  /// Returns the sequence number of the next message. All messages before it can be read.
  std::uint64_t end() const {
    step();
    return log_.end();
  }
  /// Makes the next message start a segment, and returns its position.
  Position cut();
  /// Makes the next message start a segment, because the last one is damaged.
  void begin_segment() { log_.begin_segment(); }

  /// Records that SUBSCRIPTION needs segment FLOOR and later ones, and removes the segments that no
  /// subscription needs.
  void set_floor(const std::string& subscription, std::uint64_t floor);
  void forget(const std::string& subscription);
  /// Marks damaged segments, so that they are renamed instead of removed.
  void note_damaged(const std::set<std::uint64_t>& segments);

  const SpoolFiles& files() const { return log_.files(); }
  /// Returns how much of each segment is committed.
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
