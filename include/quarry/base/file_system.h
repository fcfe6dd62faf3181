// The file operations that durable storage needs, as an interface, so that tests can record them,
// make them fail, and simulate a crash of the machine.
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
  /// Reads up to BUFFER's size at OFFSET. Returns the bytes read: fewer only at the end of the file.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) = 0;
  /// Appends BYTES. Errors: kNoSpace, kIo; some of the bytes may have been written.
  virtual Result<void> append(std::string_view bytes) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() = 0;
  /// Flushes the contents to disk, but not the file's name: see sync_directory().
  virtual Result<void> sync() = 0;
  /// Whether the path by which it was opened still leads to it: neither the file nor a parent folder
  /// was removed, moved or replaced.
  virtual Result<bool> has_name() = 0;
  /// Locks the file exclusively until it is closed. False: another File holds the lock.
  virtual Result<bool> try_lock() = 0;
  /// Whether another File holds the lock.
  virtual Result<bool> is_locked() = 0;
};

enum class FileUse : std::uint8_t {
  kRead,
  kAppend,      // must exist
  kMake,        // read and append; must not exist
  kOpenOrMake,  // read and append
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Errors: kNotFound, kDenied, kReadOnly, kNoSpace, kIo; kBusy (FileUse::kMake, and it exists).
  virtual Result<std::unique_ptr<File>> open(const std::filesystem::path& path, FileUse use) = 0;
  /// Atomic; replaces an existing file TO.
  virtual Result<void> rename(const std::filesystem::path& from,
                              const std::filesystem::path& to) = 0;
  virtual Result<void> remove(const std::filesystem::path& path) = 0;
  /// The names of the files in FOLDER, unordered.
  virtual Result<std::vector<std::string>> list(const std::filesystem::path& folder) = 0;
  /// Calls TAKE for each name, without building a list.
  virtual Result<void> visit(const std::filesystem::path& folder,
                             const std::function<void(std::string_view name)>& take);
  /// Creates FOLDER with mode 0700, but no parents; succeeds if it exists.
  virtual Result<void> make_folder(const std::filesystem::path& folder) = 0;
  /// Flushes created, changed and removed names in FOLDER to disk.
  virtual Result<void> sync_directory(const std::filesystem::path& folder) = 0;
  /// Like File::sync() for each of FILES, in any order, but faster because the disk gets several
  /// requests at once. On an error, some files may have been flushed.
  virtual Result<void> sync_all(std::span<File* const> files);
  /// Like sync_all(), with sync_directory() for each of FOLDERS.
  virtual Result<void> sync_directories(std::span<const std::filesystem::path> folders);

  /// The real file system.
  static FileSystem& real();
};

}  // namespace quarry::base
