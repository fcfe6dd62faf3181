// What a disk queue does with the files that it finds at its start: takes up where the last process
// left off, whether that ended or was killed, and tells what is not as it should be.
#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <utility>

#include "disk_store.h"

namespace quarry::spool {
namespace {

using base::ErrorCode;
using base::fail;
using base::FileUse;
using base::Result;

/// Sequence numbers of one life of a queue, from its first message until it is empty and its files
/// are removed, begin in a place of their own, so that a position file of another life is known.
std::uint64_t new_life() {
  std::random_device random;
  return std::uint64_t{(random() & 0xfffff) + 1} << 40;
}

}  // namespace

Result<bool> DiskStore::is_there(const SpoolFiles& files) {
  QUARRY_TRY_ASSIGN(const auto segments, files.segments());
  if (!segments.empty()) return true;
  const auto position = files.position();
  return !position || position->has_value();
}

/// Where to read on. SEGMENTS that are behind are removed: the process was killed before it could.
Result<std::optional<Position>> DiskStore::recover_position(std::vector<std::uint64_t>& segments) {
  auto found = files_.position();
  if (!found && found.error().code != ErrorCode::kCorrupt) return std::unexpected(found.error());
  if (!found && options_.on_corruption == OnCorruption::kIgnore) {
    QUARRY_TRY(files_.remove_position());
    reporter_(fmt::format("{}; everything in the segments is delivered, some of it perhaps again",
                          found.error().message));
    return std::nullopt;
  }
  if (!found) {
    QUARRY_TRY_ASSIGN(const std::string aside, files_.set_position_aside());
    reporter_(
        fmt::format("{}; it is kept as {}, and everything in the segments is delivered, some "
                    "of it perhaps again",
                    found.error().message, aside));
    return std::nullopt;
  }
  if (!*found || segments.empty()) return *found;
  const Position position = **found;
  if (!files_.is_of_these(position, segments)) {
    reporter_("the position file is not of these segments: everything in them is delivered");
    return std::nullopt;
  }
  while (!segments.empty() && segments.front() < position.segment) {
    QUARRY_TRY(files_.remove(segments.front()));
    segments.erase(segments.begin());
  }
  return position;
}

Result<void> DiskStore::measure(const std::vector<std::uint64_t>& segments) {
  for (const std::uint64_t number : segments) {
    const auto file = files_.system().open(files_.segment(number), FileUse::kRead);
    // Another process, which delivers, has just removed it.
    if (!file && file.error().code == ErrorCode::kNotFound) continue;
    if (!file) return std::unexpected(file.error());
    QUARRY_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
    usage_.set(number, size);
  }
  return {};
}

Result<void> DiskStore::recover(Roles roles) {
  QUARRY_TRY_ASSIGN(std::vector<std::uint64_t> segments, files_.segments());
  std::optional<Position> position;
  if (roles == Roles::kWriter) {
    // Who reads may be about to replace it; what is wrong with it is for him to find.
    position = files_.position().value_or(std::nullopt);
    if (position && !files_.is_of_these(*position, segments)) position.reset();
  } else {
    QUARRY_TRY_ASSIGN(position, recover_position(segments));
  }
  has_position_ = position.has_value();
  QUARRY_TRY(measure(segments));
  settled_ = position.value_or(Position{});
  if (!position) {
    const std::uint64_t first = files_.first_sequence(segments);
    settled_ = {.segment = segments.empty() ? 1 : segments.front(),
                .offset = 0,
                .sequence = first != 0 || roles == Roles::kReader ? first : new_life()};
  } else if (!std::ranges::binary_search(segments, position->segment)) {
    // All of it was delivered.
    settled_ = {.segment = position->segment + 1, .offset = 0, .sequence = position->sequence};
  }
  QUARRY_TRY_ASSIGN(const std::uint64_t end, find_end(files_, segments, settled_));
  found_end_ = end;
  const std::uint64_t next = std::max(settled_.segment, segments.empty() ? 0 : segments.back() + 1);
  if (roles != Roles::kReader) {
    writer_.emplace(files_,
                    SegmentWriter::Limits{.file_size = options_.max_file_size,
                                          .disk_space = options_.max_disk_space},
                    usage_, next, end);
    end_.store(end);
  }
  const DiskUsage* const written = roles == Roles::kBoth ? &usage_ : nullptr;
  if (roles != Roles::kWriter) reader_.emplace(files_, reporter_, settled_, written);
  if (roles == Roles::kBoth && !has_position_ && !segments.empty()) {
    QUARRY_TRY(checkpoint());
    has_position_ = true;
  }
  if (roles == Roles::kBoth && waiting() > 0) {
    reporter_(fmt::format("{}: {} messages of before wait to be delivered",
                          files_.shown(settled_.segment), waiting()));
  }
  return {};
}

Result<std::unique_ptr<DiskStore>> DiskStore::open(const SpoolFiles& files,
                                                   const QueueOptions& options,
                                                   const Reporter& reporter, Roles roles) {
  std::unique_ptr<DiskStore> store(new DiskStore(files, options, reporter));
  QUARRY_TRY(store->recover(roles));
  return store;
}

}  // namespace quarry::spool
