// What the access log is told of a visit.
#pragma once

#include <string_view>

#include "quarry/base/access_format.h"
#include "visit.h"

namespace quarry::pages {

/// Of VISIT, whose reply has begun, to POOL. Its views last as long as both.
base::AccessRecord access_record(Visit& visit, std::string_view pool);

}  // namespace quarry::pages
