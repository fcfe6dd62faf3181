#include "loaded_library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace quarry::libraries {
namespace {

constexpr int kCannotStart = 127;

[[noreturn]] void give_up() {
  std::fprintf(stderr, "quarry: a library cannot be loaded: %s\n", ::dlerror());
  std::_Exit(kCannotStart);
}

}  // namespace

LoadedLibrary::LoadedLibrary(const char* name) : handle_(::dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
  if (handle_ == nullptr) give_up();
}

void* LoadedLibrary::find(const char* function) const {
  void* const found = ::dlsym(handle_, function);
  if (found == nullptr) give_up();
  return found;
}

}  // namespace quarry::libraries
