// Fossil's delta format: instructions that build a target from a source.
//
//   SIZE '\n'                      size of the target
//   then any number of
//     COUNT '@' OFFSET ','         copy COUNT bytes of the source from OFFSET
//     COUNT ':' BYTES              insert the COUNT bytes that follow
//   CHECKSUM ';'                   sum of the target's big-endian 32-bit words, modulo 2^32
//
// Numbers are written in base 64 with the digits 0-9A-Z_a-z~, most significant first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::artifact {

/// Returns the size of the target that DELTA declares. Error: kInvalid (not a delta).
Result<std::size_t> delta_output_size(std::string_view delta);

/// Builds the target of DELTA from SOURCE. Checks that the declared size is at most MAX_SIZE before
/// it allocates memory. Errors: kInvalid (malformed, copies beyond the source, more or fewer bytes
/// than declared, wrong checksum), kLimit.
Result<std::string> delta_apply(std::string_view source, std::string_view delta,
                                std::size_t max_size);

/// Returns a delta that builds TARGET (up to 2^32 - 1 bytes) from SOURCE. The delta is always
/// valid, but not always small. The time is linear in both sizes, even for hostile input.
std::string delta_create(std::string_view source, std::string_view target);

}  // namespace quarry::artifact
