#include "exit_codes.h"

#include <fmt/core.h>

#include <cstdio>

namespace quarry::app {

int failed(const Error& error) {
  fmt::print(stderr, "quarry: {}\n", error.message);
  return kFailed;
}

int exit_code_of(const Result<void>& done) {
  if (!done) return failed(done.error());
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  return is_written ? kDone : failed(fail_errno("cannot write to standard output").error());
}

}  // namespace quarry::app
