#include "made_tarball.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/core.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace {

constexpr std::size_t kBlock = 512;

void put(std::string& head, std::size_t offset, std::string_view text) {
  std::ranges::copy(text, head.begin() + static_cast<std::ptrdiff_t>(offset));
}

class Deflate {
 public:
  Deflate() {
    if (::deflateInit2(&stream_, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
      std::abort();
  }
  ~Deflate() { ::deflateEnd(&stream_); }
  Deflate(const Deflate&) = delete;
  Deflate& operator=(const Deflate&) = delete;

  void add(std::string_view bytes, bool is_last) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    std::array<char, 65536> buffer{};
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = buffer.size();
      ::deflate(&stream_, is_last ? Z_FINISH : Z_NO_FLUSH);
      out_.append(buffer.data(), buffer.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }
  std::string take() { return std::move(out_); }

 private:
  z_stream stream_{};
  std::string out_;
};

}  // namespace

std::string tar_entry(const TarEntry& entry) {
  std::string head(kBlock, '\0');
  const std::uint64_t size = entry.size == UINT64_MAX ? entry.content.size() : entry.size;
  put(head, 0, std::string_view(entry.name).substr(0, 100));
  put(head, 100, fmt::format("{:07o}", entry.mode));
  put(head, 108, "0000000");
  put(head, 116, "0000000");
  put(head, 124, fmt::format("{:011o}", size));
  put(head, 136, "00000000000");
  put(head, 148, "        ");
  head[156] = entry.type;
  put(head, 157, std::string_view(entry.link).substr(0, 100));
  put(head, 257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  put(head, 148, fmt::format("{:06o}", sum));
  head[154] = '\0';
  std::string out = head + entry.content;
  out.resize((out.size() + kBlock - 1) / kBlock * kBlock);
  return out;
}

std::string tar_end() {
  return std::string(2 * kBlock, '\0');
}

std::string gzip(std::string_view bytes) {
  Deflate deflate;
  deflate.add(bytes, true);
  return deflate.take();
}

std::string gzip_zeros(std::size_t count) {
  const std::string zeros(std::size_t{1} << 20, '\0');
  Deflate deflate;
  for (; count > zeros.size(); count -= zeros.size()) deflate.add(zeros, false);
  deflate.add(std::string_view(zeros).substr(0, count), true);
  return deflate.take();
}

std::string zstd(std::string_view bytes) {
  std::string out(bytes.size() * 2 + 65536, '\0');
  std::size_t used = 0;
  archive* writer = ::archive_write_new();
  ::archive_write_add_filter_zstd(writer);
  ::archive_write_set_format_raw(writer);
  ::archive_write_set_bytes_in_last_block(writer, 1);
  ::archive_write_open_memory(writer, out.data(), out.size(), &used);
  archive_entry* entry = ::archive_entry_new();
  ::archive_entry_set_filetype(entry, AE_IFREG);
  ::archive_write_header(writer, entry);
  ::archive_write_data(writer, bytes.data(), bytes.size());
  ::archive_entry_free(entry);
  ::archive_write_free(writer);
  out.resize(used);
  return out;
}

quarry::base::Fd file_of(std::string_view bytes) {
  std::string name = (std::filesystem::temp_directory_path() / "quarry-tarball-XXXXXX").string();
  quarry::base::Fd file(::mkstemp(name.data()));
  ::unlink(name.c_str());
  while (!bytes.empty()) {
    const ssize_t size = ::write(file.get(), bytes.data(), bytes.size());
    if (size <= 0) throw std::runtime_error("cannot write a test's tarball");
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return file;
}
