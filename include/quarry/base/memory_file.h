// An in-memory file with a given text, for another program to read.
#pragma once

#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// The file is positioned at its start. Errors: kIo.
Result<Fd> memory_file(std::string_view text);

}  // namespace quarry::base
