// The tarball of a change set (change_set.h). `quarry submit` writes the tarball. The queue reads
// it, and does not trust its contents.
//
//   meta            a file; must occur exactly once, at any position
//   lroot/          a folder; entries for it and for folders in it are optional
//   lroot/NAME      a file (only its owner's execute permission counts) or a symbolic link
//
// The tarball is a tar archive (ustar, pax or GNU) with its end marker and without trailing data,
// uncompressed or compressed once with gzip or zstd. Anything else is rejected: hard links,
// devices, pipes, sparse files, other files or folders, and duplicate names.
//
// As in fossil, symbolic links are stored in check-ins and created in every check-out. Therefore,
// the target of a link must be a relative path inside the tree. A program that reads or writes
// through the link then cannot access files outside the tree.
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

/// Limits on a tarball. The reader checks the limits before it allocates memory or disk space.
struct TarballLimits {
  std::uint64_t tarball = std::uint64_t{64} << 20;    // bytes of the tarball itself
  std::uint64_t expanded = std::uint64_t{256} << 20;  // bytes of the uncompressed archive
  std::uint64_t file = std::uint64_t{64} << 20;       // bytes of one file
  std::size_t entries = 50'000;                       // files and folders
};

struct SubmittedFile {
  std::string name;
  char permission = 0;       // as in artifact::FileCard: 'x', 'l' or 0
  std::uint64_t size = 0;    // bytes; for a link: length of its target
  std::uint64_t offset = 0;  // position in the file of ChangeSetContent

  friend bool operator==(const SubmittedFile&, const SubmittedFile&) = default;
};

/// The contents of a tarball. The files are in an unnamed temporary file.
class ChangeSetContent {
 public:
  ChangeSetContent(Meta meta, std::vector<SubmittedFile> files, base::Fd contents)
      : meta_(std::move(meta)), files_(std::move(files)), contents_(std::move(contents)) {}

  const Meta& meta() const { return meta_; }
  /// Returns the files, sorted by name. Each file is in meta().files.
  const std::vector<SubmittedFile>& files() const { return files_; }
  /// Returns the names in meta().files for which the tarball does not contain a file. The change
  /// set deletes these files.
  std::vector<std::string> deletions() const;
  /// Returns the content of one of files().
  Result<std::string> read(const SubmittedFile& file) const;
  /// Returns the unnamed temporary file with the contents of all files.
  const base::Fd& contents() const { return contents_; }

 private:
  Meta meta_;
  std::vector<SubmittedFile> files_;
  base::Fd contents_;
};

/// Reads the change set in the open file TARBALL, from its beginning. Stores the contents in a
/// temporary file in FOLDER. Errors: kInvalid and kLimit (the message names the entry), kNoSpace,
/// kIo.
Result<ChangeSetContent> read_tarball(int tarball, const TarballLimits& limits,
                                      const std::filesystem::path& folder);

/// Reads tarballs in confined child processes. The children have limited time and memory. They can
/// access only the tarballs and the files for the unpacked contents. If a bug in a library is
/// exploited by hostile input, only the child is affected, and the error is kInvalid. The results
/// of the child are checked again.
///
/// A helper process forks the children, because forking a large process takes longer than reading a
/// tarball. The constructor forks the helper early, while the process is small. Not thread-safe.
class TarballReaders {
 public:
  /// Forks the helper. Use only in single-threaded processes.
  TarballReaders();
  ~TarballReaders();
  TarballReaders(const TarballReaders&) = delete;
  TarballReaders& operator=(const TarballReaders&) = delete;

  /// Like read_tarball(), but reads the tarball in a child.
  Result<ChangeSetContent> read(int tarball, const TarballLimits& limits,
                                const std::filesystem::path& folder);
  /// Reads several tarballs (at most kMax) in one child, which is faster. All tarballs must be from
  /// the same submitter, because a hostile tarball can take over the child and falsify the results
  /// of later tarballs. Returns an error for each tarball that cannot be read, or for all tarballs
  /// if the child has exited.
  using Contents = Result<std::vector<Result<ChangeSetContent>>>;
  Contents read_together(std::span<const int> tarballs, const TarballLimits& limits,
                         const std::filesystem::path& folder);
  static constexpr std::size_t kMax = 16;

 private:
  struct Helper;
  Result<void> start_helper();
  Result<void> order(const TarballLimits& limits, std::span<const int> descriptors);
  Contents read_once(std::span<const int> tarballs, const TarballLimits& limits,
                     const std::filesystem::path& folder);

  std::unique_ptr<Helper> helper_;  // null if the helper could not be started or has exited
};

// The contents of a checked tarball can be cached, so that the tarball is read only once. The cache
// can be deleted at any time, because the tarball is kept. Damage by a crash is detected.

/// Caches CONTENT of the change set NAME in FOLDER, which must be the folder that was passed to
/// read_tarball(). Errors: kLimit (too large), kDiscarded (the file system of FOLDER cannot link an
/// unnamed file), kNoSpace, kIo.
Result<void> keep_content(const ChangeSetContent& content, const std::filesystem::path& folder,
                          const ChangeSetName& name);
bool has_content(const std::filesystem::path& folder, const ChangeSetName& name);
void drop_content(const std::filesystem::path& folder, const ChangeSetName& name);
/// Removes the cached contents of NAME from FOLDER and returns them. Errors: kNotFound; kInvalid,
/// kLimit and kIo if the contents are damaged.
Result<ChangeSetContent> take_content(const std::filesystem::path& folder,
                                      const ChangeSetName& name, const TarballLimits& limits);

/// Checks that NAME is allowed as the name of a file in a change set. It must be a simple path
/// (artifact::is_simple_path()) of at most kMaxName bytes, in UTF-8, without control characters or
/// backslashes. It must not be a name that fossil reserves in a check-out. Errors: kInvalid,
/// kLimit, with the reason.
Result<void> check_file_name(std::string_view name);
/// Checks that the symbolic link NAME is allowed to point to TARGET. Errors: kInvalid, kLimit, with
/// the reason.
Result<void> check_link_target(std::string_view name, std::string_view target);

enum class TarballCompression : std::uint8_t { kNone, kGzip, kZstd };

/// Writes an archive in pieces. Owner, group and time are constant, so that the same files always
/// make the same tarball.
class TarballWriter {
 public:
  /// Receives the bytes of the tarball, in order.
  using Sink = std::function<Result<void>(std::string_view bytes)>;

  static Result<TarballWriter> open(Sink sink, TarballCompression compression);
  TarballWriter(TarballWriter&&) noexcept;
  TarballWriter& operator=(TarballWriter&&) noexcept;
  ~TarballWriter();

  /// Adds the file PATH. Errors: kIo, errors from the sink.
  Result<void> add(std::string_view path, char permission, std::string_view content);
  /// Ends the archive. Do not add files afterwards. If finish() is not called, readers reject the
  /// tarball as incomplete.
  Result<void> finish();

 private:
  struct State;
  explicit TarballWriter(std::unique_ptr<State> state);
  Result<void> outcome(int code);

  std::unique_ptr<State> state_;
};

struct FileToSubmit {
  std::string name;
  char permission = 0;
  std::function<Result<std::string>()> read;
};

/// Writes the tarball of META with FILES. Each file must be named in META. A gzip tarball has a
/// checksum. A zstd tarball does not have a checksum, because libarchive does not support writing
/// one. Errors: kInvalid and kLimit (read_tarball() does not accept META, a name or a link), errors
/// from SINK, errors from reading files.
Result<void> write_tarball(const TarballWriter::Sink& sink, const Meta& meta,
                           std::span<const FileToSubmit> files,
                           TarballCompression compression = TarballCompression::kGzip);

}  // namespace quarry::changes
