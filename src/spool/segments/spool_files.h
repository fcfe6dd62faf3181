// The names of a queue's files, its locks, and its position file. The position file contains the
// read position:
//
//   quarry-spool 1
//   segment 12
//   offset 34567
//   sequence 4294968000
//   checksum 1a2b3c4d
//
// The position file is replaced atomically: a new file is written and renamed. The file exists
// while the queue has undelivered messages.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "segment_format.h"

namespace quarry::spool {

/// Whether a process writes the files, reads them, or does both (the usual case).
enum class Roles : std::uint8_t { kBoth, kWriter, kReader };

/// Returns whether two sequence numbers belong to the same generation of a queue. After a queue has
/// become empty, the next generation starts at a distant number.
bool are_of_same_generation(std::uint64_t sequence, std::uint64_t other);

/// A lock on roles. While the object exists, other processes cannot have the same role.
struct SpoolLock {
  std::shared_ptr<base::File> writer;
  std::shared_ptr<base::File> reader;
};

class SpoolFiles {
 public:
  SpoolFiles(base::FileSystem& system, std::filesystem::path folder, std::string name, bool synced)
      : system_(&system), folder_(std::move(folder)), name_(std::move(name)), synced_(synced) {}

  /// Returns an object for the files NAME.* in the same directory, under the same lock.
  SpoolFiles others(std::string name, bool synced) const {
    SpoolFiles found = *this;
    found.name_ = std::move(name);
    found.synced_ = synced;
    return found;
  }

  base::FileSystem& system() const { return *system_; }
  bool is_synced() const { return synced_; }
  std::filesystem::path segment(std::uint64_t number) const;
  /// Returns the path of a segment, for messages.
  std::string shown(std::uint64_t number) const { return segment(number).string(); }

  /// Returns the numbers of the existing segments in ascending order.
  Result<std::vector<std::uint64_t>> segments() const;
  /// Returns the size of each segment in bytes.
  Result<std::map<std::uint64_t, std::uint64_t>> sizes() const;
  /// Returns the position before the first message. If no header is readable, the sequence number
  /// is 0.
  Result<Position> beginning() const;
  /// Locks ROLES for this process. Errors: kBusy, and file system errors.
  Result<SpoolLock> lock(Roles roles) const;

  /// Ties this object to the directory of LOCK; see check_folder().
  void keep_to(const SpoolLock& lock) { lock_ = lock.writer ? lock.writer : lock.reader; }
  /// Checks that the directory and the locked file were not removed, moved or replaced. After such
  /// a change, new messages would be lost, and another process could have the same role. Errors:
  /// kNotFound.
  Result<void> check_folder() const;

  /// Returns the path of the file that marks a stream (stream/stream_core.h).
  std::filesystem::path stream_mark() const { return folder_ / (name_ + ".stream"); }
  Result<bool> are_of_stream() const;
  /// Checks that the files belong to a queue, not to a stream. Errors: kInvalid.
  Result<void> check_no_stream() const;

  /// Returns whether any process has ROLE (kWriter or kReader) now.
  Result<bool> is_taken(Roles role) const;
  /// Returns the names of the damaged files that were kept.
  Result<std::vector<std::string>> damaged() const;
  const std::filesystem::path& folder() const { return folder_; }
  const std::string& name() const { return name_; }

  /// Returns the stored position. Returns nullopt if the position file does not exist. Errors:
  /// kCorrupt.
  Result<std::optional<Position>> position() const;
  /// Returns the first sequence number in the first of SEGMENTS that has a readable header, or 0.
  std::uint64_t first_sequence(const std::vector<std::uint64_t>& segments) const;
  /// Returns true if POSITION belongs to the same generation as SEGMENTS, or if no header of
  /// SEGMENTS is readable. The segment of POSITION might be missing.
  bool is_of_these(const Position& position, const std::vector<std::uint64_t>& segments) const;
  Result<void> write_position(const Position& position) const;
  Result<void> remove_position() const;
  /// Renames the damaged position file. Returns its new name.
  Result<std::string> set_position_aside() const;

  Result<void> remove(std::uint64_t number) const;
  /// Removes all segments.
  Result<void> remove_all() const;
  /// Renames a damaged segment. Returns its new name.
  Result<std::string> set_aside(std::uint64_t number) const;
  /// Makes created, renamed and removed names durable, for synced queues.
  Result<void> sync_names() const;

 private:
  std::filesystem::path position_path() const;
  std::filesystem::path position_beside() const;
  Result<std::shared_ptr<base::File>> lock(const char* suffix, const char* what) const;
  Result<std::string> put_aside(const std::filesystem::path& path) const;

  base::FileSystem* system_;  // not owned
  std::filesystem::path folder_;
  std::string name_;
  bool synced_;
  std::weak_ptr<base::File> lock_;  // owned by the holder of the role
};

}  // namespace quarry::spool
