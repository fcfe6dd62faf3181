// Error handling of the programs that measure the queue. An error is printed as one line.
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

/// Returns the exit status for the result DONE. If DONE is an error, prints it.
inline int status_of(const char* program, const Result<void>& done) {
  return done ? EXIT_SUCCESS : told(program, done.error().message.c_str());
}

/// Calls RUN with the arguments of main(), and returns the exit status of RUN. Prints the message
/// of an exception.
inline int run_main(const char* program, int argc, char** argv, int (*run)(int, char**)) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    return told(program, error.what());
  }
}

}  // namespace quarry
