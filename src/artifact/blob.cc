#include "quarry/artifact/blob.h"

#include <libdeflate.h>

#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

namespace quarry::artifact {
namespace {

// The default of zlib. Higher levels take much more time and save little space.
constexpr int kCompressionLevel = 6;
constexpr int kBestCompressionLevel = 12;

struct FreeCompressor {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
};
struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

// A compressor contains large tables, so each thread creates only one for each level.
template <int kLevel>
libdeflate_compressor* compressor() {
  thread_local const std::unique_ptr<libdeflate_compressor, FreeCompressor> instance(
      libdeflate_alloc_compressor(kLevel));
  if (!instance) throw std::bad_alloc();
  return instance.get();
}

libdeflate_decompressor* decompressor() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> instance(
      libdeflate_alloc_decompressor());
  if (!instance) throw std::bad_alloc();
  return instance.get();
}

void write_prefix(char* out, std::size_t size) {
  for (int shift = 24; shift >= 0; shift -= 8) *out++ = static_cast<char>((size >> shift) & 0xff);
}

std::string compress(std::string_view content, libdeflate_compressor* with) {
  if (content.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("cannot compress an artifact of 4 GiB or more");
  }
  const std::size_t bound = libdeflate_zlib_compress_bound(with, content.size());
  std::string blob;
  blob.resize_and_overwrite(kBlobPrefixSize + bound, [&](char* out, std::size_t) {
    write_prefix(out, content.size());
    return kBlobPrefixSize + libdeflate_zlib_compress(with, content.data(), content.size(),
                                                      out + kBlobPrefixSize, bound);
  });
  return blob;
}

}  // namespace

std::string blob_compress(std::string_view content) {
  return compress(content, compressor<kCompressionLevel>());
}

std::string blob_compress_well(std::string_view content) {
  return compress(content, compressor<kBestCompressionLevel>());
}

Result<std::uint32_t> blob_declared_size(std::string_view blob) {
  if (blob.size() < kBlobPrefixSize) {
    return fail(ErrorCode::kInvalid, "compressed content is too short to contain its size prefix");
  }
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < kBlobPrefixSize; ++i) {
    size = size << 8 | static_cast<unsigned char>(blob[i]);
  }
  return size;
}

Result<std::string> blob_expand(std::string_view blob, std::size_t max_size) {
  QUARRY_TRY_ASSIGN(const std::uint32_t declared, blob_declared_size(blob));
  if (declared > max_size) {
    return fail(ErrorCode::kLimit,
                "compressed content declares a size of {}, more than the limit of {}", declared,
                max_size);
  }
  const std::string_view stream = blob.substr(kBlobPrefixSize);
  libdeflate_decompressor* const with = decompressor();
  std::size_t read = 0;
  std::size_t made = 0;
  libdeflate_result result = LIBDEFLATE_BAD_DATA;
  std::string content;
  // The memory is not filled with zeros, so a declared size that is too large costs only address
  // space. The lambda ignores its second argument, because libstdc++ 12 passes the capacity instead
  // of the size.
  content.resize_and_overwrite(declared, [&](char* out, std::size_t) {
    result = libdeflate_zlib_decompress_ex(with, stream.data(), stream.size(), out, declared, &read,
                                           &made);
    return result == LIBDEFLATE_SUCCESS ? made : 0;
  });
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE ||
      (result == LIBDEFLATE_SUCCESS && made < declared)) {
    return fail(ErrorCode::kInvalid, "compressed content does not expand to the declared {} bytes",
                declared);
  }
  if (result != LIBDEFLATE_SUCCESS) {
    return fail(ErrorCode::kInvalid, "compressed content is not a complete zlib stream");
  }
  if (read != stream.size()) {
    return fail(ErrorCode::kInvalid, "{} bytes after the end of a zlib stream",
                stream.size() - read);
  }
  return content;
}

}  // namespace quarry::artifact
