#include "quarry/base/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace quarry::base {

Result<Fd> memory_file(std::string_view text) {
  Fd file(::memfd_create("text", MFD_CLOEXEC));
  if (!file) return fail_errno("memfd_create");
  while (!text.empty()) {
    const ssize_t size = ::write(file.get(), text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return fail_errno("cannot write to memory");
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("lseek");
  return file;
}

}  // namespace quarry::base
