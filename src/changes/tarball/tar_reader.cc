#include "tar_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "expansion.h"
#include "quarry/base/escape.h"
#include "quarry/base/transfer.h"

namespace quarry::changes {
namespace {

constexpr std::size_t kReadSize = std::size_t{64} << 10;
constexpr std::uint64_t kBlock = 512;  // block size of a tar archive
constexpr std::string_view kMeta = "meta";
constexpr std::string_view kRoot = "lroot";

/// Passes the archive's bytes to libarchive, and records what has to be checked at the end of the
/// archive.
class Source {
 public:
  explicit Source(std::unique_ptr<Expansion> expansion)
      : expansion_(std::move(expansion)), bytes_(kReadSize) {}

  static la_ssize_t on_read(archive* reader, void* self, const void** bytes) {
    auto& source = *static_cast<Source*>(self);
    const auto size = source.next();
    *bytes = source.bytes_.data();
    if (size) return static_cast<la_ssize_t>(*size);
    source.error_ = size.error();
    ::archive_set_error(reader, EIO, "%s", source.error_.message.c_str());
    return -1;
  }

  /// Returns the error that stopped reading. Its message is empty if no error occurred.
  const Error& error() const { return error_; }

  /// Reads the rest of the tarball, so that the checksums of the compression are verified.
  Result<void> drain() {
    while (true) {
      QUARRY_TRY_ASSIGN(const std::size_t size, next());
      if (size == 0) return {};
    }
  }
  /// Returns whether all bytes from OFFSET on are zero.
  bool is_blank_from(std::uint64_t offset) const { return end_of_text_ <= offset; }

 private:
  Result<std::size_t> next() {
    auto size = expansion_->read(bytes_);
    if (!size) return size;
    const std::string_view piece(bytes_.data(), *size);
    const std::size_t last = piece.find_last_not_of('\0');
    if (last != std::string_view::npos) end_of_text_ = offset_ + last + 1;
    offset_ += *size;
    return size;
  }

  std::unique_ptr<Expansion> expansion_;
  std::vector<char> bytes_;
  std::uint64_t offset_ = 0;
  std::uint64_t end_of_text_ = 0;  // position after the last byte that is not zero
  Error error_;
};

struct CloseArchive {
  void operator()(archive* reader) const { ::archive_read_free(reader); }
};

std::string_view kind_of(archive_entry* entry) {
  if (::archive_entry_hardlink(entry) != nullptr) return "a hard link";
  switch (::archive_entry_filetype(entry)) {
    case AE_IFCHR:
    case AE_IFBLK:
      return "a device";
    case AE_IFIFO:
      return "a named pipe";
    case AE_IFSOCK:
      return "a socket";
    case AE_IFREG:
      return ::archive_entry_sparse_count(entry) > 0 ? "a sparse file" : "";
    case AE_IFLNK:
    case AE_IFDIR:
      return "";
    default:
      return "of an unknown type";
  }
}

class TarReader {
 public:
  TarReader(Source& source, const TarballLimits& limits, int contents)
      : source_(source), limits_(limits), contents_(contents), archive_(::archive_read_new()) {}

  Result<TarballEntries> read() {
    ::archive_read_support_format_tar(archive_.get());
    if (::archive_read_open(archive_.get(), &source_, nullptr, &Source::on_read, nullptr) !=
        ARCHIVE_OK) {
      return failure();
    }
    for (std::size_t count = 0;; ++count) {
      archive_entry* entry = nullptr;
      const int code = ::archive_read_next_header(archive_.get(), &entry);
      if (code == ARCHIVE_EOF) break;
      // Warnings are errors, because they mean that the entry is ambiguous.
      if (code != ARCHIVE_OK) return failure();
      if (count == limits_.entries) {
        return fail(ErrorCode::kLimit, "the tarball has more than {} entries", limits_.entries);
      }
      QUARRY_TRY(take(entry));
      end_of_entry_ = position();
    }
    QUARRY_TRY(check_end());
    restore_names();
    return std::move(entries_);
  }

 private:
  std::uint64_t position() const {
    return static_cast<std::uint64_t>(::archive_filter_bytes(archive_.get(), 0));
  }

  std::unexpected<Error> failure() {
    if (!source_.error().message.empty()) return std::unexpected(source_.error());
    const char* why = ::archive_error_string(archive_.get());
    return fail(ErrorCode::kInvalid, "not a tarball, or damaged: {}",
                base::printable(why != nullptr ? why : "?"));
  }

  /// Returns NAME in composed Unicode (NFC).
  std::string composed(const std::string& name) const {
    const std::unique_ptr<archive_entry, decltype(&::archive_entry_free)> entry(
        ::archive_entry_new2(archive_.get()), &::archive_entry_free);
    ::archive_entry_update_pathname_utf8(entry.get(), name.c_str());
    const char* const text = ::archive_entry_pathname(entry.get());
    return text != nullptr ? text : name;
  }

  /// libarchive converts names in pax headers to composed Unicode. Gives these files the names that
  /// they have in the meta file.
  void restore_names() {
    const auto meta = Meta::parse(entries_.meta);
    if (!meta) return;
    std::map<std::string, std::string_view> names;
    for (const std::string& name : meta->files) names.emplace(name, name);
    for (const std::string& name : meta->files) names.emplace(composed(name), name);
    for (SubmittedFile& file : entries_.files) {
      if (const auto found = names.find(file.name); found != names.end()) file.name = found->second;
    }
  }

  Result<void> take(archive_entry* entry) {
    const char* text = ::archive_entry_pathname(entry);
    if (text == nullptr || *text == '\0') {
      return fail(ErrorCode::kInvalid, "the name of an entry is missing or not valid UTF-8");
    }
    std::string_view path = text;
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorCode::kInvalid, "the entry \"{}\" is {}", base::printable(path, 120), why);
    };
    if (const std::string_view kind = kind_of(entry); !kind.empty()) {
      return refuse(fmt::format("{}; only files, folders and symbolic links are allowed", kind));
    }
    const auto type = ::archive_entry_filetype(entry);
    if (type == AE_IFDIR && path.ends_with('/')) path.remove_suffix(1);
    if (path == kMeta && type == AE_IFREG) return take_meta(entry);
    if (path == kRoot && type == AE_IFDIR) return {};
    if (!path.starts_with(kRoot) || path.size() == kRoot.size() || path[kRoot.size()] != '/') {
      return refuse("neither the file meta nor in the folder lroot");
    }
    const std::string_view name = path.substr(kRoot.size() + 1);
    if (name.size() > kMaxName) return check_file_name(name);
    if (type == AE_IFDIR) {
      entries_.folders.emplace_back(name);
      return {};
    }
    return take_file(entry, name);
  }

  Result<void> take_meta(archive_entry* entry) {
    if (entries_.has_meta) return fail(ErrorCode::kInvalid, "meta is in the tarball twice");
    entries_.has_meta = true;
    QUARRY_TRY(check_size(entry, kMeta, kMaxMeta));
    return read_data(kMeta, ::archive_entry_size(entry),
                     [&](std::string_view bytes, std::uint64_t) {
                       entries_.meta += bytes;
                       return Result<void>();
                     });
  }

  Result<void> take_file(archive_entry* entry, std::string_view name) {
    SubmittedFile file{.name = std::string(name), .offset = end_of_contents_};
    if (::archive_entry_filetype(entry) == AE_IFLNK) {
      const char* target = ::archive_entry_symlink(entry);
      if (target == nullptr) {
        return fail(ErrorCode::kInvalid, "the target of the symbolic link \"{}\" is not UTF-8",
                    base::printable(name, 120));
      }
      const std::string_view content = target;
      if (content.size() > kMaxName) return check_link_target(name, content);
      file.permission = 'l';
      file.size = content.size();
      QUARRY_TRY(write_at(contents_, content, file.offset));
    } else {
      QUARRY_TRY(check_size(entry, name, limits_.file));
      if ((::archive_entry_perm(entry) & S_IXUSR) != 0) file.permission = 'x';
      file.size = static_cast<std::uint64_t>(::archive_entry_size(entry));
      QUARRY_TRY(read_data(name, ::archive_entry_size(entry),
                           [&](std::string_view bytes, std::uint64_t offset) {
                             return write_at(contents_, bytes, file.offset + offset);
                           }));
    }
    end_of_contents_ += file.size;
    entries_.files.push_back(std::move(file));
    return {};
  }

  static Result<void> check_size(archive_entry* entry, std::string_view name, std::uint64_t limit) {
    const std::int64_t size = ::archive_entry_size(entry);
    if (::archive_entry_size_is_set(entry) == 0 || size < 0) {
      return fail(ErrorCode::kInvalid, "\"{}\" does not have a size", base::printable(name, 120));
    }
    if (static_cast<std::uint64_t>(size) <= limit) return {};
    return fail(ErrorCode::kLimit, "\"{}\" is {} bytes long; the limit is {}",
                base::printable(name, 120), size, limit);
  }

  /// Passes the SIZE bytes of the entry NAME to TAKE.
  template <typename Take>
  Result<void> read_data(std::string_view name, std::int64_t size, const Take& take) {
    std::int64_t done = 0;
    while (true) {
      const void* bytes = nullptr;
      std::size_t length = 0;
      la_int64_t offset = 0;
      const int code = ::archive_read_data_block(archive_.get(), &bytes, &length, &offset);
      if (code == ARCHIVE_EOF) break;
      if (code != ARCHIVE_OK) return failure();
      if (offset != done || length > static_cast<std::uint64_t>(size - done)) {
        return fail(ErrorCode::kInvalid, "\"{}\" is a sparse file", base::printable(name, 120));
      }
      QUARRY_TRY(take(std::string_view(static_cast<const char*>(bytes), length),
                      static_cast<std::uint64_t>(done)));
      done += static_cast<std::int64_t>(length);
    }
    if (done == size) return {};
    return fail(ErrorCode::kInvalid, "the tarball is truncated in \"{}\"",
                base::printable(name, 120));
  }

  /// Checks the end marker. If a tarball is truncated between two entries, the missing files appear
  /// to be deleted. Only the end marker shows that the tarball is complete.
  Result<void> check_end() {
    const std::uint64_t end = position();
    QUARRY_TRY(source_.drain());
    const std::uint64_t padded = (end_of_entry_ + kBlock - 1) / kBlock * kBlock;
    if (end < padded + kBlock) {
      return fail(ErrorCode::kInvalid,
                  "the tarball is truncated: the end marker of the archive is missing");
    }
    if (source_.is_blank_from(end)) return {};
    return fail(ErrorCode::kInvalid, "the tarball has data after the end of the archive");
  }

  Source& source_;
  const TarballLimits& limits_;
  int contents_;
  std::unique_ptr<archive, CloseArchive> archive_;
  TarballEntries entries_;
  std::uint64_t end_of_contents_ = 0;
  std::uint64_t end_of_entry_ = 0;
};

}  // namespace

Result<TarballEntries> read_entries(int tarball, const TarballLimits& limits, int contents) {
  QUARRY_TRY_ASSIGN(auto expansion, Expansion::open(tarball, limits));
  Source source(std::move(expansion));
  return TarReader(source, limits, contents).read();
}

Result<void> write_at(int file, std::string_view bytes, std::uint64_t offset) {
  if (base::write_all_at(file, bytes, offset)) return {};
  const bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  auto failure = fail_errno("cannot store the contents of the tarball");
  if (is_full) failure.error().code = ErrorCode::kNoSpace;
  return failure;
}

Result<void> read_at(int file, std::span<char> buffer, std::uint64_t offset) {
  const ssize_t size = base::read_all_at(file, buffer, offset);
  if (size < 0) return fail_errno("cannot read the contents of the tarball");
  if (static_cast<std::size_t>(size) == buffer.size()) return {};
  return fail(ErrorCode::kCorrupt, "the contents of the tarball are truncated");
}

}  // namespace quarry::changes
