// The few things that durable files need from the operating system, as an interface: so that a test
// can record them, fail them, and play what a machine that stops leaves behind.
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

/// An open file; closed when it goes.
class File {
 public:
  virtual ~File() = default;
  /// Reads up to BUFFER's size from OFFSET on. Returns how much there was: less only at the end.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) = 0;
  /// Writes BYTES at the end. Errors: kNoSpace, kIo; some of them may be there then.
  virtual Result<void> append(std::string_view bytes) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() = 0;
  /// What was written is on the disk when this returns. Not the file's name: see sync_directory().
  virtual Result<void> sync() = 0;
  /// Whether the path that it was opened by still leads to it: it was not removed, moved or
  /// replaced, nor was a folder on the way.
  virtual Result<bool> has_name() = 0;
  /// Locks the file until it is closed, against every other File of it. False: somebody else has.
  virtual Result<bool> try_lock() = 0;
  /// Whether somebody else has it locked just now.
  virtual Result<bool> is_locked() = 0;
};

enum class FileUse : std::uint8_t {
  kRead,
  kAppend,      // it is there
  kMake,        // read and append; it must not be there yet
  kOpenOrMake,  // read and append
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Errors: kNotFound, kDenied, kReadOnly, kNoSpace, kIo; kBusy: FileUse::kMake, and it is there.
  virtual Result<std::unique_ptr<File>> open(const std::filesystem::path& path, FileUse use) = 0;
  /// Atomically, over a file TO that is there.
  virtual Result<void> rename(const std::filesystem::path& from,
                              const std::filesystem::path& to) = 0;
  virtual Result<void> remove(const std::filesystem::path& path) = 0;
  /// The names of the files in FOLDER, in no order.
  virtual Result<std::vector<std::string>> list(const std::filesystem::path& folder) = 0;
  /// Gives TAKE each of them, and keeps none.
  virtual Result<void> visit(const std::filesystem::path& folder,
                             const std::function<void(std::string_view name)>& take);
  /// FOLDER itself alone, with mode 0700; none if it is there.
  virtual Result<void> make_folder(const std::filesystem::path& folder) = 0;
  /// Names that were made, changed or removed in FOLDER are so for good when this returns.
  virtual Result<void> sync_directory(const std::filesystem::path& folder) = 0;
  /// As File::sync() of each of FILES, in no order; a disk that is told of several at once has less
  /// to do than of one after the other. Errors: that of one; others may be on the disk.
  virtual Result<void> sync_all(std::span<File* const> files);
  /// As sync_directory() of each of FOLDERS, likewise.
  virtual Result<void> sync_directories(std::span<const std::filesystem::path> folders);

  /// The machine's.
  static FileSystem& real();
};

}  // namespace quarry::base
