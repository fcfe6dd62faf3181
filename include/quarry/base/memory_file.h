// A text as an open file, for another program to read.
#pragma once

#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// Positioned at its start. Errors: kIo.
Result<Fd> memory_file(std::string_view text);

}  // namespace quarry::base
