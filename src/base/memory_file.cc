#include "quarry/base/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "quarry/base/transfer.h"

namespace quarry::base {

Result<Fd> memory_file(std::string_view text) {
  Fd file(::memfd_create("text", MFD_CLOEXEC));
  if (!file) return fail_errno("memfd_create");
  if (!write_all(file.get(), text)) return fail_errno("cannot write to a memory file");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("lseek");
  return file;
}

}  // namespace quarry::base
