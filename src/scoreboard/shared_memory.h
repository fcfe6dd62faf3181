// Memory that the processes of a server share through a descriptor.
#pragma once

#include <cstddef>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::scoreboard {

/// SIZE bytes, all zero, in an anonymous file that nobody can make smaller or larger. WHAT it is of,
/// in a word, is for who looks at the process. Errors: kIo.
base::Result<base::Fd> make_memory(const char* what, std::size_t size);

/// The SIZE bytes of MEMORY, mapped so that the kernel lets nobody make the mapping writable. Errors:
/// kIo.
base::Result<void*> map_for_reading(int memory, std::size_t size);

/// The same, to be written. Errors: kIo.
base::Result<void*> map_for_writing(int memory, std::size_t size);

}  // namespace quarry::scoreboard
