// Creates and maps memory that the server's processes share through a descriptor.
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
/// Mapped memory. The destructor unmaps it.
using Mapping = std::unique_ptr<void, Unmap>;

/// Creates an anonymous file of SIZE zero bytes that is sealed against resizing. WHAT is the file's
/// name in /proc. Errors: kIo.
Result<base::Fd> make_memory(const char* what, std::size_t size);

/// Checks MEMORY, which was made by make_memory() before a reload. Errors: kInvalid (its size is
/// not SIZE, or it is not sealed), kIo.
Result<void> check_memory(int memory, std::size_t size);

/// Maps SIZE bytes of MEMORY read-only. The mapping cannot become writable later. Errors: kIo.
Result<Mapping> map_for_reading(int memory, std::size_t size);

/// Maps SIZE bytes of MEMORY for reading and writing. Errors: kIo.
Result<Mapping> map_for_writing(int memory, std::size_t size);

}  // namespace quarry::scoreboard
