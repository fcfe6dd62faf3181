// Creates an in-memory file with a given text, for another program to read.
#pragma once

#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// Returns a file with the content TEXT, positioned at the start. Errors: kIo.
Result<Fd> memory_file(std::string_view text);

}  // namespace quarry::base
