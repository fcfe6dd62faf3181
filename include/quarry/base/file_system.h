// File operations for durable storage. Tests replace this interface to record operations, inject
// failures, and simulate a crash of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::base {

/// An open file; the destructor closes it.
class File {
 public:
  virtual ~File() = default;
  /// Reads at OFFSET until BUFFER is full or the file ends. Returns the number of bytes read.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) = 0;
  /// Appends BYTES. Errors: kNoSpace, kIo. After an error, some of the bytes might have been
  /// written.
  virtual Result<void> append(std::string_view bytes) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() = 0;
  /// Flushes the contents to disk. The file's name is flushed by sync_directory().
  virtual Result<void> sync() = 0;
  /// Returns whether the path that was opened still leads to this file. Returns false if the file
  /// or a parent folder was removed, moved or replaced.
  virtual Result<bool> has_name() = 0;
  /// Locks the file exclusively until it is closed. Returns false if another File holds the lock.
  virtual Result<bool> try_lock() = 0;
  /// Returns whether another File holds the lock.
  virtual Result<bool> is_locked() = 0;
};

enum class FileUse : std::uint8_t {
  kRead,
  kAppend,      // append; the file must exist
  kMake,        // read and append; the file must not exist
  kOpenOrMake,  // read and append; the file is created if it does not exist
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Opens PATH. Errors: kNotFound, kDenied, kReadOnly, kNoSpace, kIo; kBusy if USE is kMake and
  /// the file exists.
  virtual Result<std::unique_ptr<File>> open(const std::filesystem::path& path, FileUse use) = 0;
  /// Renames FROM to TO atomically and replaces an existing TO.
  virtual Result<void> rename(const std::filesystem::path& from,
                              const std::filesystem::path& to) = 0;
  virtual Result<void> remove(const std::filesystem::path& path) = 0;
  /// Returns the names of the files in FOLDER in no particular order.
  virtual Result<std::vector<std::string>> list(const std::filesystem::path& folder) = 0;
  /// Calls TAKE for the name of each file in FOLDER, without building a list.
  virtual Result<void> visit(const std::filesystem::path& folder,
                             const std::function<void(std::string_view name)>& take);
  /// Creates FOLDER, but not its parents, with mode 0700. Succeeds if FOLDER exists.
  virtual Result<void> make_folder(const std::filesystem::path& folder) = 0;
  /// Flushes created, renamed and removed names in FOLDER to disk.
  virtual Result<void> sync_directory(const std::filesystem::path& folder) = 0;
  /// Calls File::sync() for all FILES at once, in any order. The disk gets several requests at
  /// once, so this is faster than separate calls. After an error, some files might have been
  /// flushed.
  virtual Result<void> sync_all(std::span<File* const> files);
  /// Calls sync_directory() for all FOLDERS at once, like sync_all().
  virtual Result<void> sync_directories(std::span<const std::filesystem::path> folders);

  static FileSystem& real();
};

/// Returns the type of the file at PATH, after following symbolic links, or file_type::not_found.
/// Without permission to look up PATH, returns an error. (std::filesystem::exists() and
/// is_directory() with an error code return false, as for a missing file.) Errors: kDenied, kIo.
Result<std::filesystem::file_type> type_of_file(const std::filesystem::path& path);

}  // namespace quarry::base
