// Creates a pipe with close-on-exec ends.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

struct Pipe {
  Fd reading;
  Fd writing;
};

/// Creates a pipe with O_CLOEXEC and FLAGS, as for pipe2(2). Errors: kIo.
inline Result<Pipe> make_pipe(int flags = 0) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | flags) != 0) return fail_errno("cannot create a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace quarry::base
