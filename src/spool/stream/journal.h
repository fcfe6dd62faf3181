// What is written down of a subscription: its state, and each event since. The files are segments
// like those of a queue (segment_format.h), called STREAM.SUB.00000001 and so on, whose records are
//
//   state = 0xff state         the first record of each segment
//   event = kind:1 fields      see subscription_state.cc
//
// When there are many events behind the last state, another segment is begun with the present one,
// and those before are removed once that is on the disk, whatever the subscription says of its
// settlements: what would be left without either would be neither. So the cost of an event is the
// same whatever waits, and what is read at a start is bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "quarry/base/result.h"
#include "quarry/spool/queue.h"
#include "segments/segment_log.h"
#include "segments/spool_files.h"
#include "subscription_state.h"

namespace quarry::spool {

/// What a journal has.
struct JournalReading {
  /// Nothing, and no damage: its process was killed before the subscription was made.
  std::optional<SubscriptionState> state;
  bool is_damaged = false;
};
/// Reads the journal in FILES; what is damaged is told to REPORTER. Changes nothing. Errors: what
/// the disk says.
base::Result<JournalReading> read_journal(const SpoolFiles& files, const Reporter& reporter);

/// Where the journal of SUBSCRIPTION of the stream in FILES is.
SpoolFiles journal_files(const SpoolFiles& files, std::string_view subscription);

class Journal {
 public:
  /// Begins another segment behind those in FILES, with STATE, and puts it in their place. Errors:
  /// what the disk says; with kNoSpace alone the journal can be used, and tries again.
  static base::Result<std::unique_ptr<Journal>> begin(SpoolFiles files, Reporter reporter,
                                                      const SubscriptionState& state);

  /// Appends EVENTS, which happen to BEFORE; with SYNC they are on the disk. Errors: what the disk
  /// says: some of them may be there; the next one to be appended begins with its BEFORE.
  base::Result<void> append(std::span<const Event> events, const SubscriptionState& before,
                            bool sync);
  /// What was appended is on the disk.
  base::Result<void> sync();
  /// Begins another segment with STATE if there are many events behind the last one. What goes wrong
  /// is told to the reporter: it is tried again.
  void compact(const SubscriptionState& state);
  /// Removes the files.
  base::Result<void> remove();

 private:
  Journal(SpoolFiles files, Reporter reporter)
      : log_(std::move(files), reporter, {}), reporter_(std::move(reporter)) {}
  base::Result<void> write_state(const SubscriptionState& state);

  SegmentLog log_;
  Reporter reporter_;
  std::uint64_t state_bytes_ = 0;  // of the last state
  std::uint64_t event_bytes_ = 0;  // behind it
  bool needs_state_ = true;        // the files are not what the process knows
};

}  // namespace quarry::spool
