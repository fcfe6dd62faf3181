// The page of a repository for anonymous visitors, with the clone URL and recent changes. Workers
// make this page if the pool does not serve fossil's pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/http/web_page.h"
#include "quarry/repository/repository.h"

namespace quarry::pages {

/// Returns the page of REPOSITORY, whose clone URL is URL, with LINKS in its header. If anonymous
/// visitors are not allowed to read the repository, the page contains only the URL. Errors: the
/// same as for Repository::check_schema() and ProjectHistory.
Result<std::string> repository_page(repository::Repository& repository, std::string_view url,
                                    const std::vector<http::PageLink>& links, base::UnixMillis now);

}  // namespace quarry::pages
