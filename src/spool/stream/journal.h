// The journal of a subscription: its state, followed by the events since then. The files are
// segments like those of a queue (segment_format.h), named STREAM.SUB.00000001 and so on, with
// these records:
//
//   state = 0xff state         the first record of each segment
//   event = kind:1 fields      see subscription_state.cc
//
// After many events, a new segment is started with the current state. The segment is always synced
// before the older ones are removed, whatever sync_settlements says, because a crash could lose
// both otherwise. So the cost of an event does not depend on the number of waiting messages, and
// recovery time is limited.
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

/// The contents of a journal.
struct JournalReading {
  /// nullopt, without damage, if the process was killed while it created the subscription.
  std::optional<SubscriptionState> state;
  std::set<std::uint64_t> damaged;  // segments
};
/// Reads the journal in FILES and reports damage to REPORTER. Read-only. Errors: file system
/// errors.
base::Result<JournalReading> read_journal(const SpoolFiles& files, const Reporter& reporter);

/// Returns the files of the journal of SUBSCRIPTION, for the stream in FILES.
SpoolFiles journal_files(const SpoolFiles& files, std::string_view subscription);

class Journal {
 public:
  /// Starts a new segment that begins with STATE and replaces the segments in FILES. Errors: file
  /// system errors.
  /// After kNoSpace, the journal is usable and tries again.
  static base::Result<std::unique_ptr<Journal>> begin(SpoolFiles files, Reporter reporter,
                                                      const SubscriptionState& state);

  /// Appends EVENTS, which change the state BEFORE. With SYNC they are durable. Errors: file system
  /// errors. After an error, some of the events may be in the file, so the next append starts a
  /// segment with its own BEFORE.
  base::Result<void> append(std::span<const Event> events, const SubscriptionState& before,
                            bool sync);
  /// Syncs what was appended.
  base::Result<void> sync();
  /// Starts a new segment with STATE if there are many events after the last state. Errors are only
  /// reported, because the next call tries again.
  void compact(const SubscriptionState& state);
  /// Removes the files.
  base::Result<void> remove();

 private:
  Journal(SpoolFiles files, Reporter reporter)
      : log_(std::move(files), reporter, {}), reporter_(std::move(reporter)) {}
  base::Result<void> write_state(const SubscriptionState& state);

  SegmentLog log_;
  Reporter reporter_;
  std::uint64_t state_bytes_ = 0;  // size of the last state
  std::uint64_t event_bytes_ = 0;  // size of the events after the last state
  bool needs_state_ = true;        // the files do not match the state in memory
};

}  // namespace quarry::spool
