// The artifacts that Fossil wiki text (a check-in comment, say) links to: "see [d5c54f0b]" or
// "[/info/d5c54f0b|the fix]". Only as much of it is understood as tells links from the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

/// The link targets in TEXT that may be artifact names: 4 to 64 hex digits, in lower case.
std::vector<std::string> wiki_links(std::string_view text);

}  // namespace quarry::repository
