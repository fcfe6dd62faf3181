// A text as an open file, which another program is given.
#pragma once

#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::changes {

/// At its start. Errors: kIo.
base::Result<base::Fd> memory_file(std::string_view text);

}  // namespace quarry::changes
