// What a command says on the way.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>

namespace quarry::app {

/// Says LINE on standard error, as of this program.
inline void report(const std::string& line) {
  fmt::print(stderr, "quarry: {}\n", line);
}

}  // namespace quarry::app
