#include "exit_codes.h"

#include <fmt/core.h>

#include <cstdio>

namespace quarry::app {

int failed(const base::Error& error) {
  fmt::print(stderr, "quarry: {}\n", error.message);
  return kFailed;
}

}  // namespace quarry::app
