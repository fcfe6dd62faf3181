// The end of the programs that measure the queue: an error is printed as one line.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "quarry/base/result.h"

namespace quarry {

inline int told(const char* program, const char* why) {
  std::fprintf(stderr, "%s: %s\n", program, why);
  return EXIT_FAILURE;
}

/// The exit status for DONE.
inline int status_of(const char* program, const base::Result<void>& done) {
  return done ? EXIT_SUCCESS : told(program, done.error().message.c_str());
}

/// main() by RUN.
inline int run_main(const char* program, int argc, char** argv, int (*run)(int, char**)) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    return told(program, error.what());
  }
}

}  // namespace quarry
