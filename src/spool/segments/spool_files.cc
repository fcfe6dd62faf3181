#include "spool_files.h"

#include <fmt/core.h>
#include <libdeflate.h>

#include <algorithm>
#include <array>

#include "quarry/base/number.h"

namespace quarry::spool {
namespace {

using base::File;
using base::FileUse;

constexpr const char* kWriteLock = ".write.lock";
constexpr const char* kReadLock = ".read.lock";
constexpr std::string_view kFirstLine = "quarry-spool 1\n";
// Maximum size of a position file, which has five short lines.
constexpr std::size_t kMaxPosition = 512;

std::string text_of(const Position& position) {
  std::string text = fmt::format("{}segment {}\noffset {}\nsequence {}\n", kFirstLine,
                                 position.segment, position.offset, position.sequence);
  text += fmt::format("checksum {:08x}\n", libdeflate_crc32(0, text.data(), text.size()));
  return text;
}

std::optional<Position> position_in(std::string_view text) {
  Position position;
  std::string_view rest = text;
  for (std::uint64_t* const number : {&position.segment, &position.offset, &position.sequence}) {
    rest.remove_prefix(std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    *number = base::take_number<std::uint64_t>(rest).value_or(0);
  }
  // Reject texts in another form, which this program does not write.
  return text_of(position) == text ? std::optional(position) : std::nullopt;
}

Result<void> remove_if_there(base::FileSystem& system, const std::filesystem::path& path) {
  auto removed = system.remove(path);
  if (!removed && removed.error().code == ErrorCode::kNotFound) return {};
  return removed;
}

}  // namespace

bool are_of_same_generation(std::uint64_t sequence, std::uint64_t other) {
  // Round to the nearest generation. The first number of a generation can be slightly below a
  // multiple of 2^40, because a batch might have been added before the first message.
  const auto generation_of = [](std::uint64_t one) {
    return (one + (std::uint64_t{1} << 39)) >> 40;
  };
  return generation_of(sequence) == generation_of(other);
}

std::filesystem::path SpoolFiles::segment(std::uint64_t number) const {
  return folder_ / segment_name(name_, number);
}

std::filesystem::path SpoolFiles::position_path() const {
  return folder_ / (name_ + ".qi");
}

std::filesystem::path SpoolFiles::position_beside() const {
  return folder_ / (name_ + ".qi.new");
}

Result<std::vector<std::uint64_t>> SpoolFiles::segments() const {
  QUARRY_TRY_ASSIGN(const auto names, system_->list(folder_));
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = segment_number(name_, name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<std::map<std::uint64_t, std::uint64_t>> SpoolFiles::sizes() const {
  QUARRY_TRY_ASSIGN(const auto numbers, segments());
  std::map<std::uint64_t, std::uint64_t> sizes;
  for (const std::uint64_t number : numbers) {
    const auto file = system_->open(segment(number), FileUse::kRead);
    // Skip a segment that the reading process has just removed.
    if (!file && file.error().code == ErrorCode::kNotFound) continue;
    if (!file) return std::unexpected(file.error());
    QUARRY_TRY_ASSIGN(sizes[number], (*file)->size());
  }
  return sizes;
}

Result<Position> SpoolFiles::beginning() const {
  QUARRY_TRY_ASSIGN(const auto numbers, segments());
  return Position{.segment = numbers.empty() ? 1 : numbers.front(),
                  .offset = 0,
                  .sequence = first_sequence(numbers)};
}

Result<std::shared_ptr<File>> SpoolFiles::lock(const char* suffix, const char* what) const {
  const auto path = folder_ / (name_ + suffix);
  QUARRY_TRY_ASSIGN(auto file, system_->open(path, FileUse::kOpenOrMake));
  QUARRY_TRY_ASSIGN(const bool is_ours, file->try_lock());
  if (is_ours) return std::shared_ptr<File>(std::move(file));
  return fail(ErrorCode::kBusy, "{}: another process {} this queue", path.string(), what);
}

Result<SpoolLock> SpoolFiles::lock(Roles roles) const {
  SpoolLock taken;
  if (roles != Roles::kReader) {
    QUARRY_TRY_ASSIGN(taken.writer, lock(kWriteLock, "writes to"));
  }
  if (roles != Roles::kWriter) {
    QUARRY_TRY_ASSIGN(taken.reader, lock(kReadLock, "reads from"));
  }
  return taken;
}

Result<void> SpoolFiles::check_folder() const {
  const auto lock = lock_.lock();
  if (!lock) return {};
  QUARRY_TRY_ASSIGN(const bool is_there, lock->has_name());
  if (is_there) return {};
  return fail(ErrorCode::kNotFound,
              "{}: the folder was removed, moved or replaced while a queue was using it",
              folder_.string());
}

Result<bool> SpoolFiles::are_of_stream() const {
  const auto mark = system_->open(stream_mark(), FileUse::kRead);
  if (mark) return true;
  if (mark.error().code == ErrorCode::kNotFound) return false;
  return std::unexpected(mark.error());
}

Result<void> SpoolFiles::check_no_stream() const {
  QUARRY_TRY_ASSIGN(const bool is_stream, are_of_stream());
  if (!is_stream) return {};
  return fail(ErrorCode::kInvalid, "{}: {} is a stream, not a queue", folder_.string(), name_);
}

Result<bool> SpoolFiles::is_taken(Roles role) const {
  const auto path = folder_ / (name_ + (role == Roles::kWriter ? kWriteLock : kReadLock));
  const auto file = system_->open(path, FileUse::kRead);
  if (!file && file.error().code == ErrorCode::kNotFound) return false;
  if (!file) return std::unexpected(file.error());
  return (*file)->is_locked();
}

Result<std::vector<std::string>> SpoolFiles::damaged() const {
  QUARRY_TRY_ASSIGN(auto names, system_->list(folder_));
  std::erase_if(names, [this](const std::string& name) {
    const std::size_t end = name.rfind(".damaged");
    return end == std::string::npos ||
           (name.substr(0, end) != name_ + ".qi" && !segment_number(name_, name.substr(0, end)));
  });
  std::ranges::sort(names);
  return names;
}

Result<std::optional<Position>> SpoolFiles::position() const {
  auto file = system_->open(position_path(), FileUse::kRead);
  if (!file && file.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!file) return std::unexpected(file.error());
  std::array<char, kMaxPosition> buffer;
  QUARRY_TRY_ASSIGN(const std::size_t size, (*file)->read_at(0, buffer));
  const std::string_view text(buffer.data(), size);
  if (const auto position = position_in(text)) return position;
  const bool is_other = text.starts_with("quarry-spool ") && !text.starts_with(kFirstLine);
  return fail(ErrorCode::kCorrupt, position_path().string() + (is_other ? ": unsupported format"
                                                                        : ": the file is damaged"));
}

std::uint64_t SpoolFiles::first_sequence(const std::vector<std::uint64_t>& segments) const {
  for (const std::uint64_t number : segments) {
    const auto file = system_->open(segment(number), FileUse::kRead);
    std::array<char, kSegmentHeader> bytes;
    const auto size = file ? (*file)->read_at(0, bytes) : Result<std::size_t>(0);
    const auto header = decode_header({bytes.data(), size.value_or(0)});
    if (header) return header->first;
  }
  return 0;
}

bool SpoolFiles::is_of_these(const Position& position,
                             const std::vector<std::uint64_t>& segments) const {
  const std::uint64_t first = first_sequence(segments);
  return first == 0 || are_of_same_generation(first, position.sequence);
}

Result<void> SpoolFiles::write_position(const Position& position) const {
  QUARRY_TRY(check_folder());
  const auto beside = position_beside();
  // Remove the temporary file that a killed process might have left.
  QUARRY_TRY(remove_if_there(*system_, beside));
  {
    QUARRY_TRY_ASSIGN(const auto file, system_->open(beside, FileUse::kMake));
    QUARRY_TRY(file->append(text_of(position)));
    if (synced_) QUARRY_TRY(file->sync());
  }
  QUARRY_TRY(system_->rename(beside, position_path()));
  return sync_names();
}

Result<void> SpoolFiles::remove_position() const {
  // Also remove a temporary file, which might be left from a time when the disk was full.
  QUARRY_TRY(remove_if_there(*system_, position_beside()));
  return remove_if_there(*system_, position_path());
}

Result<std::string> SpoolFiles::set_position_aside() const {
  return put_aside(position_path());
}

Result<void> SpoolFiles::remove(std::uint64_t number) const {
  return system_->remove(segment(number));
}

Result<void> SpoolFiles::remove_all() const {
  QUARRY_TRY_ASSIGN(const auto numbers, segments());
  for (const std::uint64_t number : numbers) QUARRY_TRY(remove(number));
  return {};
}

Result<std::string> SpoolFiles::put_aside(const std::filesystem::path& path) const {
  // After a queue has been empty, segment numbers are reused. Avoid the names of earlier files.
  for (int count = 1;; ++count) {
    auto aside = path;
    aside += count == 1 ? ".damaged" : fmt::format(".damaged.{}", count);
    const auto taken = system_->open(aside, FileUse::kRead);
    if (!taken && taken.error().code == ErrorCode::kNotFound) {
      QUARRY_TRY(system_->rename(path, aside));
      return aside.string();
    }
    if (!taken) return std::unexpected(taken.error());
  }
}

Result<std::string> SpoolFiles::set_aside(std::uint64_t number) const {
  return put_aside(segment(number));
}

Result<void> SpoolFiles::sync_names() const {
  return synced_ ? system_->sync_directory(folder_) : Result<void>{};
}

}  // namespace quarry::spool
