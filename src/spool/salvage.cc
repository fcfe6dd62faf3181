// Messages behind the damage in a segment that was set aside. A queue itself delivers none of them:
// what lies behind a length that is wrong is looked for, and could be inside of a message that
// holds a segment. Whoever asks for it knows what his messages are.
#include <fmt/core.h>

#include <optional>
#include <utility>

#include "disk_store.h"
#include "quarry/spool/spool.h"

namespace quarry::spool {
namespace {

using base::Error;
using base::ErrorCode;
using base::fail;
using base::FileUse;
using base::Result;

// Records in a row that may be damaged.
constexpr std::uint64_t kMostDamaged = 4096;
// Of one segment, since all of it is looked at in memory.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

Result<std::string> read_whole(base::FileSystem& files, const std::filesystem::path& path) {
  QUARRY_TRY_ASSIGN(const auto file, files.open(path, FileUse::kRead));
  QUARRY_TRY_ASSIGN(const std::uint64_t size, file->size());
  if (size > kMostBytes) {
    return fail(ErrorCode::kLimit,
                fmt::format("{}: it has more than {} bytes", path.string(), kMostBytes));
  }
  std::string bytes(size, '\0');
  QUARRY_TRY_ASSIGN(const std::size_t count, file->read_at(0, bytes));
  bytes.resize(count);
  return bytes;
}

struct Found {
  RecordView record;
  std::size_t offset;
  std::uint64_t sequence;
};

/// The next whole record of segment NUMBER in BYTES, behind the damage that begins at OFFSET, where
/// the SEQUENCE-th should be.
std::optional<Found> find_record(std::string_view bytes, std::size_t offset, std::uint64_t number,
                                 std::uint64_t sequence) {
  const std::size_t begin = offset;
  for (++offset; offset + kRecordHeader <= bytes.size(); ++offset) {
    if (!could_be_record(bytes.substr(offset))) continue;
    // Not more records were there than fit.
    const std::uint64_t most =
        std::min<std::uint64_t>((offset - begin) / kRecordHeader + 1, kMostDamaged);
    for (std::uint64_t skipped = 1; skipped <= most; ++skipped) {
      const RecordView record = decode_record(bytes.substr(offset), number, sequence + skipped);
      if (record.state == RecordState::kWhole) return Found{record, offset, sequence + skipped};
    }
  }
  return std::nullopt;
}

/// The messages of the segment in BYTES behind its first damage.
std::vector<Message> behind_damage(std::string_view bytes) {
  std::vector<Message> messages;
  const auto header = decode_header(bytes);
  if (!header) return messages;
  std::size_t offset = kSegmentHeader;
  std::uint64_t sequence = header->first;
  bool is_behind = false;
  while (true) {
    RecordView record =
        decode_record(bytes.substr(std::min(offset, bytes.size())), header->number, sequence);
    if (record.state != RecordState::kWhole) {
      const auto found = find_record(bytes, offset, header->number, sequence);
      if (!found) return messages;
      is_behind = true;
      record = found->record;
      offset = found->offset;
      sequence = found->sequence;
    }
    if (is_behind) {
      messages.push_back({.content = std::string(record.content), .severity = record.severity});
    }
    offset += record.bytes;
    ++sequence;
  }
}

}  // namespace

Result<std::uint64_t> replay_spool(const SpoolPlace& place, const Reporter& reporter,
                                   base::FileSystem& files) {
  const SpoolFiles spool(files, place.folder, place.name, true);
  QUARRY_TRY_ASSIGN(const SpoolLock lock, spool.lock(Roles::kWriter));
  QUARRY_TRY_ASSIGN(const auto names, spool.damaged());
  QUARRY_TRY_ASSIGN(const auto store, DiskStore::open(spool, {}, reporter, Roles::kWriter));
  std::uint64_t count = 0;
  for (const std::string& name : names) {
    if (name.starts_with(place.name + ".qi")) continue;
    const auto path = place.folder / name;
    QUARRY_TRY_ASSIGN(const std::string bytes, read_whole(files, path));
    std::vector<Message> messages = behind_damage(bytes);
    if (messages.empty()) {
      reporter(fmt::format("{}: no message can be found behind the damage; it is left alone",
                           path.string()));
      continue;
    }
    Error error;
    const std::size_t pushed = store->push(messages, &error);
    if (pushed < messages.size()) {
      return fail(error.code, fmt::format("{}; {} of {} messages of {} are in the queue, and would "
                                          "be there twice after another replay",
                                          error.message, pushed, messages.size(), path.string()));
    }
    count += pushed;
    QUARRY_TRY(files.remove(path));
  }
  return count;
}

}  // namespace quarry::spool
