// Files in memory, for tests of durable storage. Tests can count operations, make them fail, and
// simulate a crash that loses unsynced data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/file_system.h"

/// The effect of one operation on the disk.
struct FileOperation {
  enum class Kind : std::uint8_t { kWrite, kTruncate, kSync, kLink, kRename, kRemove, kSyncNames };
  Kind kind;
  std::uint64_t file = 0;    // identifies a file across renames
  std::uint64_t offset = 0;  // start of a write, or new size of a truncated file
  std::string bytes = {};
  std::string name = {};  // for kSyncNames: the folder
  std::string to = {};    // new name in a rename
};

/// A file system that is either a single folder or a tree. A single folder ignores all folders in
/// paths. Not thread-safe.
class MemoryFileSystem final : public quarry::base::FileSystem {
 public:
  using Image = std::map<std::string, std::string>;  // contents by name or, in a tree, by path

  MemoryFileSystem() = default;
  /// Creates a single folder with the files of IMAGE.
  explicit MemoryFileSystem(const Image& image);
  /// Creates a tree with the files of IMAGE, whose names are paths relative to ROOT. Every folder
  /// exists already.
  explicit MemoryFileSystem(std::filesystem::path root, const Image& image = {});

  quarry::base::Result<std::unique_ptr<quarry::base::File>> open(
      const std::filesystem::path& path, quarry::base::FileUse use) override;
  quarry::base::Result<void> rename(const std::filesystem::path& from,
                                    const std::filesystem::path& to) override;
  quarry::base::Result<void> remove(const std::filesystem::path& path) override;
  quarry::base::Result<std::vector<std::string>> list(const std::filesystem::path& folder) override;
  quarry::base::Result<void> make_folder(const std::filesystem::path& folder) override;
  quarry::base::Result<void> sync_directory(const std::filesystem::path& folder) override;

  /// Called before each operation that changes files, with the number of the operation. If it
  /// returns an error, the operation fails with that error.
  std::function<std::optional<quarry::base::Error>(std::uint64_t)> before;

  /// Returns true if the current operation removes a name. For use in `before`.
  bool is_removing() const { return is_removing_; }

  /// Returns all operations that have changed the disk so far.
  const std::vector<FileOperation>& operations() const { return operations_; }
  /// Returns the current files.
  Image image() const;
  /// Returns the files after a crash of the machine. The machine had started with START and
  /// executed the first COUNT of OPERATIONS. KEEPS(i) decides whether the i-th of the operations
  /// that were not durable is kept.
  static Image after_a_stop(const Image& start, const std::vector<FileOperation>& operations,
                            std::size_t count, const std::function<bool(std::size_t)>& keeps);
  /// Returns the number of operations that are not durable after the first COUNT of OPERATIONS.
  static std::size_t unsynced(const std::vector<FileOperation>& operations, std::size_t count);

 private:
  friend class MemoryFile;
  struct Node {
    std::uint64_t id;
    std::string name;  // the most recent name
    std::string content;
    bool is_locked = false;
  };
  std::optional<quarry::base::Error> next(FileOperation operation);
  std::string name_of(const std::filesystem::path& path) const;

  std::filesystem::path root_;

  std::map<std::string, std::shared_ptr<Node>> files_;
  std::vector<FileOperation> operations_;
  std::uint64_t ids_ = 0;
  std::uint64_t calls_ = 0;
  bool is_removing_ = false;
};
