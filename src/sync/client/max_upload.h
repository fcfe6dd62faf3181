// How much a client sends at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quarry/repository/repository.h"

namespace quarry::sync {

/// Bytes of one request (the setting max-upload), beyond which what is left waits for the next.
inline std::size_t max_upload(repository::Repository& repository) {
  constexpr std::int64_t kDefault = 250000;
  const std::int64_t bytes = repository.settings().get_int("max-upload", kDefault);
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

}  // namespace quarry::sync
