// libdeflate, when it is first called (loaded_library.h).
#include <libdeflate.h>

#include "loaded_library.h"

namespace {

constexpr const char* kLibrary = quarry::libraries::kLibdeflate;

}  // namespace

extern "C" {

libdeflate_compressor* libdeflate_alloc_compressor(int level) {
  return QUARRY_LOADED(libdeflate_alloc_compressor)(level);
}

void libdeflate_free_compressor(libdeflate_compressor* compressor) {
  QUARRY_LOADED(libdeflate_free_compressor)(compressor);
}

size_t libdeflate_zlib_compress_bound(libdeflate_compressor* compressor, size_t size) {
  return QUARRY_LOADED(libdeflate_zlib_compress_bound)(compressor, size);
}

size_t libdeflate_zlib_compress(libdeflate_compressor* compressor, const void* bytes, size_t size,
                                void* out, size_t room) {
  return QUARRY_LOADED(libdeflate_zlib_compress)(compressor, bytes, size, out, room);
}

libdeflate_decompressor* libdeflate_alloc_decompressor() {
  return QUARRY_LOADED(libdeflate_alloc_decompressor)();
}

void libdeflate_free_decompressor(libdeflate_decompressor* decompressor) {
  QUARRY_LOADED(libdeflate_free_decompressor)(decompressor);
}

libdeflate_result libdeflate_zlib_decompress_ex(libdeflate_decompressor* decompressor,
                                                const void* bytes, size_t size, void* out,
                                                size_t room, size_t* taken, size_t* made) {
  return QUARRY_LOADED(libdeflate_zlib_decompress_ex)(decompressor, bytes, size, out, room, taken,
                                                      made);
}

uint32_t libdeflate_crc32(uint32_t crc, const void* bytes, size_t size) {
  return QUARRY_LOADED(libdeflate_crc32)(crc, bytes, size);
}

}  // extern "C"
