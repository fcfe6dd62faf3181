// The tarball of a change set (change_set.h): written by `quarry submit`, read by the queue, which
// believes nothing of it.
//
//   meta            a file; once, anywhere
//   lroot/          a folder; it and those in it may stand for themselves, or be missing
//   lroot/NAME      a file (its owner's right to execute it counts) or a symbolic link
//
// It is a tar archive (ustar, pax or GNU's) with its end mark, as it is or compressed with gzip or
// zstd: once, and with nothing behind it. Nothing else may stand in it: no hard link, device, pipe,
// hole, other file or folder, nor two of a name.
//
// A symbolic link is content, as Fossil has it, and it will be made in everybody's check-out. So its
// target is relative and stays within the tree, read letter by letter from where the link lies: a
// build that writes through it, or a program that reads through it, is not led out.
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

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/changes/change_set.h"

namespace quarry::changes {

/// What a tarball may be at most. Each is looked at before memory or disk is given to what it bounds.
struct TarballLimits {
  std::uint64_t tarball = std::uint64_t{64} << 20;    // bytes as it lies there
  std::uint64_t expanded = std::uint64_t{256} << 20;  // bytes of the archive in it
  std::uint64_t file = std::uint64_t{64} << 20;       // bytes of one file
  std::size_t entries = 50'000;                       // files and folders
};

struct SubmittedFile {
  std::string name;
  char permission = 0;       // as artifact::FileCard has it: 'x', 'l' or 0
  std::uint64_t size = 0;    // of a link: of its target, which is its content
  std::uint64_t offset = 0;  // in what ChangeSetContent keeps

  friend bool operator==(const SubmittedFile&, const SubmittedFile&) = default;
};

/// What a tarball holds. The files lie in a temporary file without a name.
class ChangeSetContent {
 public:
  ChangeSetContent(Meta meta, std::vector<SubmittedFile> files, base::Fd contents)
      : meta_(std::move(meta)), files_(std::move(files)), contents_(std::move(contents)) {}

  const Meta& meta() const { return meta_; }
  /// In the order of their names; each is one of meta().files.
  const std::vector<SubmittedFile>& files() const { return files_; }
  /// Those of meta().files that the tarball does not have: the change set removes them.
  std::vector<std::string> deletions() const;
  /// The content of one of files().
  base::Result<std::string> read(const SubmittedFile& file) const;
  /// Where the files lie.
  const base::Fd& contents() const { return contents_; }

 private:
  Meta meta_;
  std::vector<SubmittedFile> files_;
  base::Fd contents_;
};

/// The change set in the file TARBALL, whose offset does not matter. What it holds is kept in FOLDER.
/// Errors: kInvalid and kLimit, with the entry that is wrong and how; kNoSpace, kIo.
base::Result<ChangeSetContent> read_tarball(int tarball, const TarballLimits& limits,
                                            const std::filesystem::path& folder);
/// The same, with the tarball read by a child that has nothing else open, can open nothing, and has
/// bounded time and memory: what libraries do wrong with hostile bytes ends there, as kInvalid. What
/// it says is checked again. Only from a process without threads.
base::Result<ChangeSetContent> read_tarball_apart(int tarball, const TarballLimits& limits,
                                                  const std::filesystem::path& folder);

/// The same, for whoever reads many and has much in memory: to fork such a process costs more than
/// to read a tarball. The children are made by a process that is forked when this is made, early,
/// and has nothing open. Not for several threads.
class TarballReaders {
 public:
  TarballReaders();
  ~TarballReaders();
  TarballReaders(const TarballReaders&) = delete;
  TarballReaders& operator=(const TarballReaders&) = delete;

  base::Result<ChangeSetContent> read(int tarball, const TarballLimits& limits,
                                      const std::filesystem::path& folder);
  /// Several by one child, which costs less: no more than kMost, and only of one whom they come
  /// from, since a hostile one may make of the child what it likes, and so of those behind it.
  /// Errors: of one, or of all: the child's end.
  base::Result<std::vector<base::Result<ChangeSetContent>>> read_together(
      std::span<const int> tarballs, const TarballLimits& limits,
      const std::filesystem::path& folder);
  static constexpr std::size_t kMost = 16;

 private:
  struct Maker;
  base::Result<void> make_maker();

  std::unique_ptr<Maker> maker_;  // none: it could not be made, or has died
};

// What was read and checked can be kept for whoever needs it next, so that a tarball is read once.
// It is a convenience, which may go missing: the tarball is the truth. What a machine that stops
// leaves of it is noticed.

/// Keeps CONTENT, of the change set NAME, in FOLDER, where it was read. Errors: kLimit: it is too
/// much for that; kDiscarded: the folder's file system cannot name a file that has no name; kNoSpace, kIo.
base::Result<void> keep_content(const ChangeSetContent& content,
                                const std::filesystem::path& folder, const ChangeSetName& name);
bool has_content(const std::filesystem::path& folder, const ChangeSetName& name);
void drop_content(const std::filesystem::path& folder, const ChangeSetName& name);
/// What is kept in FOLDER of NAME; it is there no more then. Errors: kNotFound; kInvalid, kLimit,
/// kIo: it is not as it was.
base::Result<ChangeSetContent> take_content(const std::filesystem::path& folder,
                                            const ChangeSetName& name, const TarballLimits& limits);

/// Whether NAME can name a file of a change set: as artifact::is_simple_path(), UTF-8, without
/// control characters and backslashes, no longer than kMostName, and not what fossil keeps for
/// itself in a check-out. Errors: kInvalid, kLimit, why not.
base::Result<void> check_file_name(std::string_view name);
/// Whether a symbolic link NAME may lead to TARGET. Errors: kInvalid, kLimit, why not.
base::Result<void> check_link_target(std::string_view name, std::string_view target);

enum class TarballCompression : std::uint8_t { kNone, kGzip, kZstd };

/// Writes an archive piece by piece. Owner, group and time say nothing, so that the same files make
/// the same tarball.
class TarballWriter {
 public:
  /// Is given the tarball's bytes in their order.
  using Sink = std::function<base::Result<void>(std::string_view bytes)>;

  static base::Result<TarballWriter> open(Sink sink, TarballCompression compression);
  TarballWriter(TarballWriter&&) noexcept;
  TarballWriter& operator=(TarballWriter&&) noexcept;
  ~TarballWriter();

  /// The file at PATH in the archive. Errors: what Sink says; kIo.
  base::Result<void> add(std::string_view path, char permission, std::string_view content);
  /// Nothing may be added after it. Without it the tarball is not complete, as its readers notice.
  base::Result<void> finish();

 private:
  struct State;
  explicit TarballWriter(std::unique_ptr<State> state);
  base::Result<void> outcome(int code);

  std::unique_ptr<State> state_;
};

struct FileToSubmit {
  std::string name;
  char permission = 0;
  std::function<base::Result<std::string>()> read;
};

/// Writes the tarball of META with FILES, all of which META names. gzip checks what it expands; zstd
/// does not, as the library writes it. Errors: kInvalid, kLimit: what read_tarball() would refuse
/// of META, a name or a link; what Sink or a file says.
base::Result<void> write_tarball(const TarballWriter::Sink& sink, const Meta& meta,
                                 std::span<const FileToSubmit> files,
                                 TarballCompression compression = TarballCompression::kGzip);

}  // namespace quarry::changes
