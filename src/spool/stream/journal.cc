#include "journal.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "segments/segment_reader.h"

namespace quarry::spool {

namespace {

constexpr char kState = '\xff';
// A new segment costs a sync. Therefore, it is started only if the events since the last state have
// at least kManyEvents bytes, and at least kEventsPerState times as many bytes as that state.
constexpr std::uint64_t kManyEvents = std::uint64_t{256} << 10;
constexpr std::uint64_t kEventsPerState = 4;

/// Reads the segment NUMBER and all later segments.
Result<JournalReading> read_from(const SpoolFiles& files, const Reporter& reporter,
                                 std::uint64_t number) {
  JournalReading reading;
  SegmentReader reader(files, reporter, {.segment = number, .offset = 0, .sequence = 0});
  Message record;
  while (true) {
    QUARRY_TRY_ASSIGN(const bool has_one, reader.next(UINT64_MAX, record));
    if (!has_one) break;
    const std::string_view bytes = record.content;
    if (bytes.starts_with(kState)) {
      reading.state = SubscriptionState::decode(bytes.substr(1));
    } else if (const auto event = decode_event(bytes); event && reading.state) {
      reading.state->apply(*event);
    }
  }
  reading.damaged = reader.damaged();
  return reading;
}

}  // namespace

SpoolFiles journal_files(const SpoolFiles& files, std::string_view subscription) {
  return files.others(files.name() + "." + std::string(subscription), false);
}

Result<JournalReading> read_journal(const SpoolFiles& files, const Reporter& reporter) {
  JournalReading reading;
  QUARRY_TRY_ASSIGN(const auto segments, files.segments());
  // Search the segments for the last state, backwards. Older segments might still exist, but are
  // not needed.
  for (auto number = segments.rbegin(); number != segments.rend() && !reading.state; ++number) {
    QUARRY_TRY_ASSIGN(auto some, read_from(files, reporter, *number));
    reading.state = std::move(some.state);
    reading.damaged.merge(some.damaged);
  }
  return reading;
}

Result<std::unique_ptr<Journal>> Journal::begin(SpoolFiles files, Reporter reporter,
                                                const SubscriptionState& state) {
  QUARRY_TRY_ASSIGN(const auto reading, read_journal(files, [](const std::string&) {}));
  std::unique_ptr<Journal> journal(new Journal(std::move(files), std::move(reporter)));
  journal->log_.note_damaged(reading.damaged);
  QUARRY_TRY(journal->log_.recover({.segment = 1, .offset = 0, .sequence = 1}));
  if (const auto written = journal->write_state(state); !written) {
    if (written.error().code != ErrorCode::kNoSpace || !reading.state) {
      return std::unexpected(written.error());
    }
    journal->reporter_(written.error().message);
  }
  return journal;
}

/// Starts a new segment with STATE. When this segment is on disk, removes the older segments.
Result<void> Journal::write_state(const SubscriptionState& state) {
  needs_state_ = true;
  log_.cut();
  const Message record{.content = kState + state.encode(), .severity = kInformational};
  Error error;
  if (log_.append(std::span(&record, 1), &error) == 0) return std::unexpected(error);
  QUARRY_TRY(log_.sync());
  QUARRY_TRY(log_.files().system().sync_directory(log_.files().folder()));
  state_bytes_ = record.content.size();
  event_bytes_ = 0;
  needs_state_ = false;
  return log_.remove_before(log_.next().segment - 1);
}

Result<void> Journal::append(std::span<const Event> events, const SubscriptionState& before,
                             bool sync) {
  if (needs_state_) QUARRY_TRY(write_state(before));
  std::vector<Message> records;
  records.reserve(events.size());
  for (const Event& event : events) {
    records.push_back({.content = encode(event), .severity = kInformational});
    event_bytes_ += kRecordHeader + records.back().content.size();
  }
  needs_state_ = true;
  Error error;
  if (log_.append(records, &error) < records.size()) return std::unexpected(error);
  if (sync) QUARRY_TRY(log_.sync());
  needs_state_ = false;
  return {};
}

Result<void> Journal::sync() {
  return log_.sync();
}

void Journal::compact(const SubscriptionState& state) {
  if (event_bytes_ < std::max(kManyEvents, kEventsPerState * state_bytes_)) return;
  if (const auto written = write_state(state); !written) reporter_(written.error().message);
}

Result<void> Journal::remove() {
  log_.cut();
  const SpoolFiles& files = log_.files();
  QUARRY_TRY(files.remove_all());
  return files.system().sync_directory(files.folder());
}

}  // namespace quarry::spool
