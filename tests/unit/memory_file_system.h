// Files in memory, for tests of durable storage. Every operation is counted and can be made to
// fail, and a crash of the machine can be simulated, which loses unsynced data.
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
  std::uint64_t file = 0;    // which file, regardless of its present name
  std::uint64_t offset = 0;  // of a write; or the new size of a truncated file
  std::string bytes = {};
  std::string name = {};  // for kSyncNames: the folder
  std::string to = {};    // for a rename: the new name
};

/// Either a single folder, for which the folders in paths are ignored, or a tree of folders. Not
/// thread-safe.
class MemoryFileSystem final : public quarry::base::FileSystem {
 public:
  using Image = std::map<std::string, std::string>;  // contents by name; in a tree, by path

  MemoryFileSystem() = default;
  /// Creates a single folder with the files of IMAGE.
  explicit MemoryFileSystem(const Image& image);
  /// Creates a tree with the files of IMAGE, whose names are paths from ROOT on. All folders exist.
  explicit MemoryFileSystem(std::filesystem::path root, const Image& image = {});

  quarry::base::Result<std::unique_ptr<quarry::base::File>> open(
      const std::filesystem::path& path, quarry::base::FileUse use) override;
  quarry::base::Result<void> rename(const std::filesystem::path& from,
                                    const std::filesystem::path& to) override;
  quarry::base::Result<void> remove(const std::filesystem::path& path) override;
  quarry::base::Result<std::vector<std::string>> list(const std::filesystem::path& folder) override;
  quarry::base::Result<void> make_folder(const std::filesystem::path& folder) override;
  quarry::base::Result<void> sync_directory(const std::filesystem::path& folder) override;

  /// Called with the number of each operation that changes something, before that operation. If it
  /// returns an error, the operation fails with it.
  std::function<std::optional<quarry::base::Error>(std::uint64_t)> before;

  /// Can be called in `before`: whether the operation only removes a name.
  bool is_removing() const { return is_removing_; }

  /// All operations that have changed the disk so far.
  const std::vector<FileOperation>& operations() const { return operations_; }
  /// The present files.
  Image image() const;
  /// The files after a restart of a machine that crashed after the first COUNT of OPERATIONS on
  /// START. Of the operations that no sync had made durable, the i-th is kept if KEEPS(i) is true.
  static Image after_a_stop(const Image& start, const std::vector<FileOperation>& operations,
                            std::size_t count, const std::function<bool(std::size_t)>& keeps);
  /// The number of operations, among the first COUNT of OPERATIONS, that no sync has made durable.
  static std::size_t unsynced(const std::vector<FileOperation>& operations, std::size_t count);

 private:
  friend class MemoryFile;
  struct Node {
    std::uint64_t id;
    std::string name;  // the last one
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
