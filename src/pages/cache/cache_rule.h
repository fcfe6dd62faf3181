// Which requests may be answered from the cache, and under which key.
#pragma once

#include <optional>
#include <string>

#include "request/page_request.h"
#include "request/target.h"

namespace quarry::pages {

/// The key of REQUEST, which asks for TARGET: all that its page depends on, but for what lies in
/// files. Nothing: it is to be asked of fossil itself, since somebody may be logged in, since it may
/// change something, or since its page is not of those that show the same to all.
std::optional<std::string> cache_key(const PageRequest& request, const Target& target,
                                     bool trust_remote_user);

/// REQUEST as it is asked for all who will see its page: with what its key tells, and no more.
PageRequest anonymous(const PageRequest& request);

}  // namespace quarry::pages
