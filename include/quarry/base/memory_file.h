// Creates an in-memory file from a text, as input for another program.
#pragma once

#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// Returns an in-memory file with the content TEXT, positioned at the start. Errors: kIo.
Result<Fd> memory_file(std::string_view text);

}  // namespace quarry::base
