// The artifacts that Fossil wiki text (for example a check-in comment) links to: "see [d5c54f0b]"
// or "[/info/d5c54f0b|the fix]". Parses only as much of the markup as is needed to find links.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

/// The link targets in TEXT that may be artifact names: 4 to 64 hex digits, in lower case.
std::vector<std::string> wiki_links(std::string_view text);

}  // namespace quarry::repository
