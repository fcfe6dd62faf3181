// The prefix of a compressed blob: the size of its content, big-endian.
#pragma once

#include <cstddef>

namespace quarry::artifact {

inline constexpr std::size_t kPrefixSize = 4;

}  // namespace quarry::artifact
