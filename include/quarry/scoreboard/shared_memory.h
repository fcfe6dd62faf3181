// Memory that the processes of a server share through a descriptor.
#pragma once

#include <cstddef>
#include <memory>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::scoreboard {

struct Unmap {
  std::size_t size = 0;
  void operator()(void* memory) const;
};
/// Mapped memory.
using Mapping = std::unique_ptr<void, Unmap>;

/// Creates an anonymous file with SIZE zero bytes, sealed against resizing. WHAT is its name in /proc.
/// Errors: kIo.
base::Result<base::Fd> make_memory(const char* what, std::size_t size);

/// Maps the SIZE bytes of MEMORY read-only, in a way that cannot be made writable later. Errors: kIo.
base::Result<Mapping> map_for_reading(int memory, std::size_t size);

/// Maps them writable. Errors: kIo.
base::Result<Mapping> map_for_writing(int memory, std::size_t size);

}  // namespace quarry::scoreboard
