#include "quarry/pages/figures.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "quarry/base/escape.h"

namespace quarry::pages {

void Figures::set_version(std::string_view version) {
  for (std::size_t i = 0; i < version_.size(); ++i)
    version_[i] = i < version.size() ? version[i] : '\0';
}

std::string Figures::version() const {
  std::string version;
  for (const auto& each : version_) {
    if (each == '\0') break;
    version += each;
  }
  return base::printable(version);
}

base::Result<std::shared_ptr<Figures>> Figures::make_shared() {
  void* const memory =
      ::mmap(nullptr, sizeof(Figures), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return base::fail_errno("cannot allocate shared memory for counters");
  return std::shared_ptr<Figures>(new (memory) Figures, [](Figures* figures) {
    figures->~Figures();
    ::munmap(figures, sizeof(Figures));
  });
}

}  // namespace quarry::pages
