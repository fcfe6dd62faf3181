#include "expansion.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <string_view>
#include <vector>

#include "quarry/base/transfer.h"

namespace quarry::changes {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;

/// Reads a file from its beginning, without using the file's offset.
class Input {
 public:
  explicit Input(int file) : file_(file) {}

  Result<std::size_t> read(std::span<char> buffer) {
    const ssize_t size = base::read_all_at(file_, buffer, offset_);
    if (size < 0) return fail_errno("cannot read the tarball");
    offset_ += static_cast<std::uint64_t>(size);
    return static_cast<std::size_t>(size);
  }

 private:
  int file_;
  std::uint64_t offset_ = 0;
};

class Plain : public Expansion {
 public:
  explicit Plain(int file) : input_(file) {}

 protected:
  Result<std::size_t> expand(std::span<char> buffer) override { return input_.read(buffer); }

 private:
  Input input_;
};

class Gzip : public Expansion {
 public:
  explicit Gzip(int file) : input_(file), bytes_(kPiece) {
    is_open_ = ::inflateInit2(&stream_, 15 + 16) == Z_OK;  // maximum window; only gzip
  }
  ~Gzip() override {
    if (is_open_) ::inflateEnd(&stream_);
  }

 protected:
  Result<std::size_t> expand(std::span<char> buffer) override {
    if (!is_open_) return fail(ErrorCode::kIo, "cannot initialize zlib");
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = static_cast<uInt>(buffer.size());
    while (stream_.avail_out == buffer.size()) {
      if (stream_.avail_in == 0) {
        QUARRY_TRY_ASSIGN(const std::size_t size, input_.read(bytes_));
        if (size == 0 && is_between_members_) return 0;
        if (size == 0)
          return fail(ErrorCode::kInvalid,
                      "the tarball is truncated: unexpected end of the gzip stream");
        stream_.next_in = reinterpret_cast<Bytef*>(bytes_.data());
        stream_.avail_in = static_cast<uInt>(size);
      }
      // Start the next member, because a gzip file can consist of several members.
      if (is_between_members_) ::inflateReset(&stream_);
      is_between_members_ = false;
      const int code = ::inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        is_between_members_ = true;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return fail(ErrorCode::kInvalid, "the tarball is damaged: gzip: {}",
                    stream_.msg != nullptr ? stream_.msg : "invalid data");
      }
    }
    return buffer.size() - stream_.avail_out;
  }

 private:
  Input input_;
  std::vector<char> bytes_;
  z_stream stream_{};
  bool is_open_ = false;
  bool is_between_members_ = false;
};

class Zstd : public Expansion {
 public:
  explicit Zstd(int file) : input_(file), bytes_(kPiece), archive_(::archive_read_new()) {}
  ~Zstd() override { ::archive_read_free(archive_); }

 protected:
  Result<std::size_t> expand(std::span<char> buffer) override {
    if (!is_open_) QUARRY_TRY(open());
    const la_ssize_t size = ::archive_read_data(archive_, buffer.data(), buffer.size());
    if (size < 0) return failure();
    return static_cast<std::size_t>(size);
  }

 private:
  Result<void> open() {
    // Also reject ARCHIVE_WARN, which means that libarchive would use an external program.
    if (::archive_read_support_filter_zstd(archive_) != ARCHIVE_OK) {
      return fail(ErrorCode::kIo, "libarchive does not support zstd");
    }
    ::archive_read_support_format_raw(archive_);
    if (::archive_read_open(archive_, this, nullptr, &Zstd::on_read, nullptr) != ARCHIVE_OK)
      return failure();
    archive_entry* entry = nullptr;
    if (::archive_read_next_header(archive_, &entry) != ARCHIVE_OK) return failure();
    // Require exactly two filters: zstd, and our source, which libarchive counts as a filter. The
    // output of any other filter would not be limited.
    if (::archive_filter_count(archive_) != 2) {
      return fail(ErrorCode::kInvalid, "the tarball is compressed more than once");
    }
    is_open_ = true;
    return {};
  }

  std::unexpected<Error> failure() {
    if (!error_.message.empty()) return std::unexpected(error_);
    const char* why = ::archive_error_string(archive_);
    return fail(ErrorCode::kInvalid, "the tarball is damaged or truncated: {}",
                why != nullptr ? why : "zstd");
  }

  static la_ssize_t on_read(archive* reader, void* self, const void** bytes) {
    auto& zstd = *static_cast<Zstd*>(self);
    auto size = zstd.input_.read(zstd.bytes_);
    *bytes = zstd.bytes_.data();
    if (size) return static_cast<la_ssize_t>(*size);
    zstd.error_ = size.error();
    ::archive_set_error(reader, EIO, "%s", zstd.error_.message.c_str());
    return -1;
  }

  Input input_;
  std::vector<char> bytes_;
  archive* archive_;
  bool is_open_ = false;
  Error error_;
};

std::unique_ptr<Expansion> expansion_of(int tarball, std::string_view beginning) {
  if (beginning.starts_with("\x1f\x8b")) return std::make_unique<Gzip>(tarball);
  if (beginning.starts_with("\x28\xb5\x2f\xfd")) return std::make_unique<Zstd>(tarball);
  return std::make_unique<Plain>(tarball);
}

}  // namespace

Result<std::unique_ptr<Expansion>> Expansion::open(int tarball, const TarballLimits& limits) {
  struct stat status {};
  if (::fstat(tarball, &status) != 0) return fail_errno("cannot examine the tarball");
  if (!S_ISREG(status.st_mode))
    return fail(ErrorCode::kInvalid, "the tarball is not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) > limits.tarball) {
    return fail(ErrorCode::kLimit, "the tarball is {} bytes long; the limit is {}", status.st_size,
                limits.tarball);
  }
  std::array<char, 4> beginning{};
  QUARRY_TRY_ASSIGN(const std::size_t size, Input(tarball).read(beginning));
  auto expansion = expansion_of(tarball, {beginning.data(), size});
  expansion->left_ = expansion->limit_ = limits.expanded;
  return expansion;
}

Result<std::size_t> Expansion::read(std::span<char> buffer) {
  QUARRY_TRY_ASSIGN(const std::size_t size, expand(buffer));
  if (size > left_) {
    return fail(ErrorCode::kLimit, "the tarball expands to more than {} bytes", limit_);
  }
  left_ -= size;
  return size;
}

}  // namespace quarry::changes
