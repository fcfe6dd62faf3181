// How much a client sends in one request.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quarry/repository/repository.h"

namespace quarry::sync {

/// Limit on one request in bytes (the setting max-upload); the rest waits for the next one.
inline std::size_t max_upload(repository::Repository& repository) {
  constexpr std::int64_t kDefault = 250000;
  const std::int64_t bytes = repository.settings().get_int("max-upload", kDefault);
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

}  // namespace quarry::sync
