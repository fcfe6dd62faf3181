#include "quarry/scoreboard/shared_memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace quarry::scoreboard {
namespace {

Result<Mapping> map(int memory, std::size_t size, int protection) {
  void* const mapped = ::mmap(nullptr, size, protection, MAP_SHARED, memory, 0);
  if (mapped == MAP_FAILED) return fail_errno("cannot map shared memory");
  return Mapping(mapped, Unmap{size});
}

}  // namespace

void Unmap::operator()(void* memory) const {
  ::munmap(memory, size);
}

Result<base::Fd> make_memory(const char* what, std::size_t size) {
  const std::string name = fmt::format("quarry-{}", what);
  base::Fd memory(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool is_made =
      memory && ::ftruncate(memory.get(), static_cast<off_t>(size)) == 0 &&
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (!is_made) return fail_errno("cannot create shared memory for the {}", what);
  return memory;
}

Result<void> check_memory(int memory, std::size_t size) {
  struct stat status {};
  if (::fstat(memory, &status) != 0) return fail_errno("cannot examine shared memory");
  const int seals = ::fcntl(memory, F_GET_SEALS);
  if (status.st_size != static_cast<off_t>(size) || seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return fail(ErrorCode::kInvalid, "its memory has the wrong size or is not sealed");
  }
  return {};
}

Result<Mapping> map_for_reading(int memory, std::size_t size) {
  // Use a read-only descriptor, because a shared mapping of such a descriptor can never become
  // writable.
  const std::string path = fmt::format("/proc/self/fd/{}", memory);
  const base::Fd reading(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reading) return fail_errno("cannot open shared memory");
  return map(reading.get(), size, PROT_READ);
}

Result<Mapping> map_for_writing(int memory, std::size_t size) {
  return map(memory, size, PROT_READ | PROT_WRITE);
}

}  // namespace quarry::scoreboard
