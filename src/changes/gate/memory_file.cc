#include "memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

namespace quarry::changes {

base::Result<base::Fd> memory_file(std::string_view text) {
  base::Fd file(::memfd_create("gate", MFD_CLOEXEC));
  if (!file) return base::fail_errno("memfd_create");
  while (!text.empty()) {
    const ssize_t size = ::write(file.get(), text.data(), text.size());
    if (size <= 0) return base::fail_errno("cannot keep a gate's file in memory");
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return base::fail_errno("lseek");
  return file;
}

}  // namespace quarry::changes
