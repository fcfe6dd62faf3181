// The access log's record of a page request.
#pragma once

#include <string_view>

#include "page_connection.h"
#include "quarry/base/access_format.h"

namespace quarry::pages {

/// The record of a request to POOL on CONNECTION, whose reply has begun. Its views last as long as
/// both.
base::AccessRecord access_record(PageConnection& connection, std::string_view pool);

}  // namespace quarry::pages
