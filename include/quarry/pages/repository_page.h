// A repository's page where fossil makes none: how to have it, and what is new in it, for visitors
// who have not logged in. Made by workers.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::pages {

/// The page of REPOSITORY, which is cloned from URL. Where not everybody may read it, it tells of
/// nothing but the URL. Errors: those of Repository::check_schema() and of ProjectHistory.
base::Result<std::string> repository_page(repository::Repository& repository, std::string_view url,
                                          base::UnixMillis now);

}  // namespace quarry::pages
