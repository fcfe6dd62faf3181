// The page of a repository if fossil does not make its pages: how to clone it and its recent
// changes, for visitors without a login. The workers make it.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::pages {

/// Returns the page of REPOSITORY, whose clone URL is URL. If anonymous visitors may not read the
/// repository, the page shows only the URL. Errors: those of Repository::check_schema() and of
/// ProjectHistory.
base::Result<std::string> repository_page(repository::Repository& repository, std::string_view url,
                                          base::UnixMillis now);

}  // namespace quarry::pages
