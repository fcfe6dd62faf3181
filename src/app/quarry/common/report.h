// Prints messages of a running command.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>

namespace quarry::app {

/// Prints LINE on standard error, with the program's name.
inline void report(const std::string& line) {
  fmt::print(stderr, "quarry: {}\n", line);
}

}  // namespace quarry::app
