// Prints JSON.
#pragma once

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace quarry::app {

/// Prints VALUE on a line of standard output. Invalid UTF-8 is replaced by U+FFFD.
inline void print_json(const nlohmann::json& value) {
  fmt::print("{}\n", value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace quarry::app
