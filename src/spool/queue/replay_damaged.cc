// Implements `quarry spool replay`, which recovers messages from damaged segments and appends them
// to the queue. The readable messages after the damage are recovered. If the header of a segment is
// damaged, all readable messages of the segment are recovered.
//
// A queue never recovers messages automatically. If the length of a record is damaged, the position
// of the next record is unknown and has to be searched for. The search can find a false record
// inside a message that itself contains a segment. Only a user can rule out such messages.
//
// If the header of the segment is readable, the checksums of a record must match the number of the
// segment and a plausible sequence number. If the header is damaged, these numbers are unknown. The
// two checksums can then only be compared with each other, and other data can match by chance.
// Therefore, in a segment with a damaged header, the first record after unreadable bytes is
// accepted only if another record, or the end of the file, directly follows it.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>

#include "disk_store.h"
#include "quarry/spool/spool.h"

namespace quarry::spool {
namespace {

using base::FileUse;

// Maximum number of consecutive damaged records that are skipped.
constexpr std::uint64_t kMaxDamaged = 4096;
// Maximum size of a segment, because a segment is read into memory as a whole.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
// Limits on the bytes that are read for candidate records: per byte of a segment, and in total.
// Reading kMaxReads bytes takes about ten seconds.
constexpr std::uint64_t kReadsPerByte = 4096;
constexpr std::uint64_t kMaxReads = std::uint64_t{1} << 32;

Result<std::string> read_whole(base::FileSystem& files, const std::filesystem::path& path) {
  QUARRY_TRY_ASSIGN(const auto file, files.open(path, FileUse::kRead));
  QUARRY_TRY_ASSIGN(const std::uint64_t size, file->size());
  if (size > kMaxBytes) {
    return fail(ErrorCode::kLimit, "{}: larger than {} bytes", path.string(), kMaxBytes);
  }
  std::string bytes(size, '\0');
  QUARRY_TRY_ASSIGN(const std::size_t count, file->read_at(0, bytes));
  bytes.resize(count);
  return bytes;
}

/// The bytes of a segment, and a limit on the bytes to read. Without the limit, it could take hours
/// to check random bytes that look like the lengths of long records.
struct Remains {
  std::string_view bytes;
  std::uint64_t budget;

  /// Returns the record at OFFSET. If OFFSET does not contain a record, returns a damaged record.
  RecordView stray_at(std::size_t offset) {
    if (offset >= bytes.size() || budget == 0) {
      RecordView none;
      none.state = RecordState::kDamaged;
      return none;
    }
    const RecordView record = decode_stray_record(bytes.substr(offset));
    budget -= std::min<std::uint64_t>(budget, record.content.size());
    return record;
  }
};

struct Found {
  RecordView record;
  std::size_t offset;
  std::uint64_t sequence;
};

/// Returns the next whole record of segment NUMBER after damage at OFFSET. SEQUENCE is the sequence
/// number of the record that should be at OFFSET.
std::optional<Found> find_record(Remains& remains, std::size_t offset, std::uint64_t number,
                                 std::uint64_t sequence) {
  const std::string_view bytes = remains.bytes;
  const std::size_t begin = offset;
  for (++offset; offset + kRecordHeader <= bytes.size(); ++offset) {
    if (remains.stray_at(offset).state != RecordState::kWhole) continue;
    // Try only plausible sequence numbers: the damaged bytes from BEGIN to OFFSET had space for at
    // most `max` records.
    const std::uint64_t max =
        std::min<std::uint64_t>((offset - begin) / kRecordHeader + 1, kMaxDamaged);
    for (std::uint64_t skipped = 1; skipped <= max; ++skipped) {
      const RecordView record = decode_record(bytes.substr(offset), number, sequence + skipped);
      if (record.state == RecordState::kWhole) return Found{record, offset, sequence + skipped};
    }
  }
  return std::nullopt;
}

Message message_of(const RecordView& record) {
  return {.content = std::string(record.content), .severity = record.severity};
}

/// Returns the messages after the first damage. If IS_AFTER is set, also returns the messages
/// before the damage.
std::vector<Message> after_damage(Remains& remains, const SegmentHeader& header, bool is_after) {
  std::vector<Message> messages;
  const std::string_view bytes = remains.bytes;
  std::size_t offset = kSegmentHeader;
  std::uint64_t sequence = header.first;
  while (true) {
    RecordView record =
        decode_record(bytes.substr(std::min(offset, bytes.size())), header.number, sequence);
    if (record.state != RecordState::kWhole) {
      const auto found = find_record(remains, offset, header.number, sequence);
      if (!found) return messages;
      is_after = true;
      record = found->record;
      offset = found->offset;
      sequence = found->sequence;
    }
    if (is_after) messages.push_back(message_of(record));
    offset += record.bytes;
    ++sequence;
  }
}

/// Returns the messages of a segment with an unreadable header.
std::vector<Message> without_header(Remains& remains) {
  std::vector<Message> messages;
  const std::size_t size = remains.bytes.size();
  bool is_in_row = false;
  for (std::size_t offset = 0; offset + kRecordHeader <= size && remains.budget > 0;) {
    const RecordView record = remains.stray_at(offset);
    const std::size_t next = offset + record.bytes;
    const bool is_one =
        record.state == RecordState::kWhole &&
        (is_in_row || next == size || remains.stray_at(next).state == RecordState::kWhole);
    if (is_one) messages.push_back(message_of(record));
    offset = is_one ? next : offset + 1;
    is_in_row = is_one;
  }
  return messages;
}

/// Returns the recoverable messages in BYTES, the damaged segment NUMBER. Sets *IS_WHOLE to false
/// if the limit has stopped the search.
std::vector<Message> salvage(std::string_view bytes, std::uint64_t number, const std::string& path,
                             const Reporter& reporter, bool* is_whole) {
  Remains remains{.bytes = bytes, .budget = std::min(kMaxReads, kReadsPerByte * bytes.size())};
  const auto header = decode_header(bytes);
  // If the header does not match the file name, return all messages: a queue does not deliver
  // messages from such a segment.
  auto messages =
      header ? after_damage(remains, *header, header->number != number) : without_header(remains);
  *is_whole = remains.budget > 0;
  const char* const where = header ? "after the damage" : "in a file with a damaged header";
  reporter(messages.empty()
               ? fmt::format("{}: no messages found {}; file left unchanged", path, where)
               : fmt::format("{}: {} messages found {}", path, messages.size(), where));
  return messages;
}

/// Appends all MESSAGES to the queue, or none of them.
Result<void> append_all(const SpoolFiles& spool, std::span<const Message> messages,
                        const Reporter& reporter) {
  QUARRY_TRY_ASSIGN(const auto store, DiskStore::open(spool, {}, reporter, Roles::kWriter));
  // The segment has a temporary name until it is complete.
  const SpoolFiles beside(spool.system(), spool.folder(), spool.name() + ".qi.replay", true);
  QUARRY_TRY(beside.remove_all());
  const Position end = store->end();
  SegmentLog log(beside, reporter, {});
  log.begin_at(end);
  Error error;
  if (log.append(messages, &error) < messages.size()) {
    (void)beside.remove_all();  // after a failure, the next replay removes the files
    return std::unexpected(error);
  }
  QUARRY_TRY(spool.system().rename(beside.segment(end.segment), spool.segment(end.segment)));
  return spool.sync_names();
}

}  // namespace

Result<std::uint64_t> replay_spool(const SpoolLocation& location, const Reporter& reporter,
                                   base::FileSystem& files) {
  const SpoolFiles spool(files, location.folder, location.name, true);
  QUARRY_TRY_ASSIGN(const SpoolLock lock, spool.lock(Roles::kWriter));
  QUARRY_TRY(spool.check_no_stream());
  QUARRY_TRY(report_incomplete(spool, reporter));
  QUARRY_TRY_ASSIGN(const auto names, spool.damaged());
  std::uint64_t count = 0;
  for (const std::string& name : names) {
    const auto number = segment_number(location.name, name.substr(0, name.rfind(".damaged")));
    if (!number) continue;  // a position file
    const auto path = location.folder / name;
    QUARRY_TRY_ASSIGN(const std::string bytes, read_whole(files, path));
    bool is_whole = false;
    const auto messages = salvage(bytes, *number, path.string(), reporter, &is_whole);
    if (messages.empty()) continue;
    if (const auto put = append_all(spool, messages, reporter); !put) {
      return fail(put.error().code, "{}; no message from {} was added to the queue",
                  put.error().message, path.string());
    }
    count += messages.size();
    if (is_whole) {
      QUARRY_TRY(files.remove(path));
      continue;
    }
    const std::string rest = spool.segment(*number).string() + ".rest";
    QUARRY_TRY(files.rename(path, rest));
    reporter(fmt::format(
        "{}: stopped searching the file, because it took too long; the file is kept as {}",
        path.string(), rest));
  }
  return count;
}

}  // namespace quarry::spool
