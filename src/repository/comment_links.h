// The artifacts that a check-in comment links to: "see [d5c54f0b]" or "[/info/d5c54f0b|the fix]".
// Comments are Fossil wiki text; only as much of that is understood as tells links from the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

/// The link targets in COMMENT that may be artifact names: 4 to 64 hex digits, in lower case.
std::vector<std::string> comment_links(std::string_view comment);

}  // namespace quarry::repository
