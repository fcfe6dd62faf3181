// Which requests may be answered from the cache, and with which key.
#pragma once

#include <optional>
#include <string>

#include "request/page_request.h"
#include "request/target.h"

namespace quarry::pages {

/// The key of REQUEST for TARGET: all that its page depends on, apart from files. Nullopt: fossil
/// must make the page, because a user may be logged in, because the request may change something,
/// or because the page is not known to be the same for everybody.
std::optional<std::string> cache_key(const PageRequest& request, const Target& target,
                                     bool trust_remote_user);

/// A copy of REQUEST with only the parameters that its key contains, for a page shared by many
/// clients.
PageRequest anonymous(const PageRequest& request);

}  // namespace quarry::pages
