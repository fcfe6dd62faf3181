// HTML pages of a queue and of one change set, in the common frame of our pages
// (quarry/http/web_page.h). Replies with these pages need the frame's headers. The pages do not
// contain scripts or forms.
#pragma once

#include <string>
#include <string_view>

#include "quarry/changes/queue_view.h"

namespace quarry::worker {

/// Return the HTML pages. REPOSITORY is the repository's name. BASE is the queue's URL for links,
/// without a trailing slash. QUERY is the query of the request.
std::string queue_page(const changes::QueueView& view, std::string_view repository,
                       std::string_view base, std::string_view query);
std::string change_set_page(const changes::JobView& view, std::string_view repository,
                            std::string_view base);

}  // namespace quarry::worker
