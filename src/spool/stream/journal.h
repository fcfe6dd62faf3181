// The journal of a subscription: its state, followed by later events. The files are segments in a
// queue's format (segment_format.h). The files are named STREAM.SUB.00000001 and so on. The records
// are:
//
//   state = 0xff state         the first record of each segment
//   event = kind:1 fields      see subscription_state.cc
//
// After many events, a new segment is started with the current state. So the cost of an event does
// not depend on the number of waiting messages, and the time of a recovery is limited. The new
// segment is always synced before the older segments are removed, regardless of sync_settlements.
// Otherwise, a crash could lose the old state and the new state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "quarry/base/result.h"
#include "quarry/spool/queue.h"
#include "segments/segment_log.h"
#include "segments/spool_files.h"
#include "subscription_state.h"

namespace quarry::spool {

struct JournalReading {
  /// nullopt if no state is readable. If `damaged` is also empty, the process was killed while it
  /// created the subscription.
  std::optional<SubscriptionState> state;
  std::set<std::uint64_t> damaged;  // segments
};
/// Reads the journal in FILES. Reports damage to REPORTER. Read-only. Errors: file system errors.
Result<JournalReading> read_journal(const SpoolFiles& files, const Reporter& reporter);

/// Returns the journal's files of SUBSCRIPTION, for the stream in FILES.
SpoolFiles journal_files(const SpoolFiles& files, std::string_view subscription);

class Journal {
 public:
  /// Starts a new segment with STATE, which replaces the segments in FILES. After kNoSpace, the
  /// journal is usable and tries again. Errors: file system errors.
  static Result<std::unique_ptr<Journal>> begin(SpoolFiles files, Reporter reporter,
                                                const SubscriptionState& state);

  /// Appends EVENTS. BEFORE is the state before these events. With SYNC, the events are durable.
  /// After an error, some of the events might be in the file, so the next append starts a new
  /// segment. Errors: file system errors.
  Result<void> append(std::span<const Event> events, const SubscriptionState& before, bool sync);
  Result<void> sync();
  /// Starts a new segment with STATE if many events follow the last state. Errors are reported but
  /// not returned, because the next call tries again.
  void compact(const SubscriptionState& state);
  Result<void> remove();

 private:
  Journal(SpoolFiles files, Reporter reporter)
      : log_(std::move(files), reporter, {}), reporter_(std::move(reporter)) {}
  Result<void> write_state(const SubscriptionState& state);

  SegmentLog log_;
  Reporter reporter_;
  std::uint64_t state_bytes_ = 0;  // size of the last state
  std::uint64_t event_bytes_ = 0;  // size of the events after the last state
  bool needs_state_ = true;        // whether the files differ from the state in memory
};

}  // namespace quarry::spool
