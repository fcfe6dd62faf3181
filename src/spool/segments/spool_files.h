// Where the files of one queue are, what they are called, and the file that says how far reading
// has come:
//
//   quarry-spool 1
//   segment 12
//   offset 34567
//   sequence 4294968000
//   checksum 1a2b3c4d
//
// It is replaced as a whole: written beside its place, and renamed. Its being there tells that
// there is something to deliver.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "segment_format.h"

namespace quarry::spool {

/// What a process does with the files: mostly both.
enum class Roles : std::uint8_t { kBoth, kWriter, kReader };

/// Whether these are of one life of a queue: between two it was empty, and its sequence numbers
/// begin far away.
bool are_of_one_life(std::uint64_t sequence, std::uint64_t other);

/// While it lives, no other process has the same role.
struct SpoolLock {
  std::shared_ptr<base::File> writer;
  std::shared_ptr<base::File> reader;
};

class SpoolFiles {
 public:
  SpoolFiles(base::FileSystem& system, std::filesystem::path folder, std::string name, bool synced)
      : system_(&system), folder_(std::move(folder)), name_(std::move(name)), synced_(synced) {}

  /// Others in the same folder, which begin with NAME; they keep to the same lock.
  SpoolFiles others(std::string name, bool synced) const {
    SpoolFiles found = *this;
    found.name_ = std::move(name);
    found.synced_ = synced;
    return found;
  }

  base::FileSystem& system() const { return *system_; }
  bool is_synced() const { return synced_; }
  std::filesystem::path segment(std::uint64_t number) const;
  /// As a person would look for it.
  std::string shown(std::uint64_t number) const { return segment(number).string(); }

  /// The numbers of the segments that are there, ascending.
  base::Result<std::vector<std::uint64_t>> segments() const;
  /// The bytes of each segment.
  base::Result<std::map<std::uint64_t, std::uint64_t>> sizes() const;
  /// The place before the first message; its sequence number is 0 if no header can be read.
  base::Result<Position> beginning() const;
  /// Errors: kBusy, and what the disk says.
  base::Result<SpoolLock> lock(Roles roles) const;

  /// From now on the folder has to be the one in which LOCK's files are.
  void keep_to(const SpoolLock& lock) { lock_ = lock.writer ? lock.writer : lock.reader; }
  /// Errors: kNotFound, the folder, or the lock in it, was removed, moved or replaced: nobody would
  /// find what goes there, and another process may have the same role.
  base::Result<void> check_folder() const;

  /// The file that tells that these are a stream's (stream/stream_core.h).
  std::filesystem::path stream_mark() const { return folder_ / (name_ + ".stream"); }
  base::Result<bool> are_of_stream() const;
  /// Errors: kInvalid, they are a stream's, and no queue's.
  base::Result<void> check_no_stream() const;

  /// Whether some process has ROLE, kWriter or kReader, just now.
  base::Result<bool> is_taken(Roles role) const;
  /// The names of what was set aside.
  base::Result<std::vector<std::string>> damaged() const;
  const std::filesystem::path& folder() const { return folder_; }
  const std::string& name() const { return name_; }

  /// Nothing where there is no such file. Errors: kCorrupt.
  base::Result<std::optional<Position>> position() const;
  /// The first message of the first of SEGMENTS that tells; 0: none does.
  std::uint64_t first_sequence(const std::vector<std::uint64_t>& segments) const;
  /// Whether POSITION is one in SEGMENTS, not of another life of the queue.
  bool is_of_these(const Position& position, const std::vector<std::uint64_t>& segments) const;
  base::Result<void> write_position(const Position& position) const;
  base::Result<void> remove_position() const;
  /// Puts the position file out of the way, under a name that tells that it is damaged. Returns
  /// that.
  base::Result<std::string> set_position_aside() const;

  base::Result<void> remove(std::uint64_t number) const;
  /// Removes all segments.
  base::Result<void> remove_all() const;
  /// The same for a segment. Returns its new name.
  base::Result<std::string> set_aside(std::uint64_t number) const;
  /// Makes names that came and went durable, where the queue is to be.
  base::Result<void> sync_names() const;

 private:
  std::filesystem::path position_path() const;
  std::filesystem::path position_beside() const;
  base::Result<std::shared_ptr<base::File>> lock(const char* suffix, const char* what) const;
  base::Result<std::string> put_aside(const std::filesystem::path& path) const;

  base::FileSystem* system_;  // not owned
  std::filesystem::path folder_;
  std::string name_;
  bool synced_;
  std::weak_ptr<base::File> lock_;  // not longer than the process has the role
};

}  // namespace quarry::spool
