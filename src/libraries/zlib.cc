// zlib, when it is first called (loaded_library.h).
#include <zlib.h>

#include "loaded_library.h"

namespace {

constexpr const char* kLibrary = quarry::libraries::kZlib;

}  // namespace

extern "C" {

int inflateInit_(z_streamp stream, const char* version, int size) {
  return QUARRY_LOADED(inflateInit_)(stream, version, size);
}

int inflate(z_streamp stream, int flush) {
  return QUARRY_LOADED(inflate)(stream, flush);
}

int inflateEnd(z_streamp stream) {
  return QUARRY_LOADED(inflateEnd)(stream);
}

}  // extern "C"
