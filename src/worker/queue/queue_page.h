// The pages of a queue for people with a browser: the queue, and one change set, in the frame of all
// our pages (quarry/http/web_page.h), whose headers they need. No script, no form.
#pragma once

#include <string>
#include <string_view>

#include "quarry/changes/queue_view.h"

namespace quarry::worker {

/// REPOSITORY: as it is called. BASE: the URL of the queue as the page's links need it, without a
/// slash at its end. QUERY: what was asked for.
std::string queue_page(const changes::QueueView& view, std::string_view repository,
                       std::string_view base, std::string_view query);
std::string change_set_page(const changes::JobView& view, std::string_view repository,
                            std::string_view base);

}  // namespace quarry::worker
