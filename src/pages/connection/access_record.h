// What the access log is told of a visit.
#pragma once

#include <string_view>

#include "page_connection.h"
#include "quarry/base/access_format.h"

namespace quarry::pages {

/// Of VISIT, whose reply has begun, to POOL. Its views last as long as both.
base::AccessRecord access_record(PageConnection& connection, std::string_view pool);

}  // namespace quarry::pages
