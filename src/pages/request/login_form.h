// Logins by the page of fossil's, in the log as the workers have those of syncs.
#pragma once

#include <string>

#include "page_request.h"
#include "place.h"

namespace quarry::pages {

/// What to log if fossil refuses REQUEST, which asks for TARGET; "": it is no login.
std::string refused_login_in_words(const PageRequest& request, const Target& target);

}  // namespace quarry::pages
