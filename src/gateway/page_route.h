// Selects the requests that bypass the pool and go to the page server. Such requests do not wait
// for a worker or occupy a worker.
#pragma once

#include <string_view>

namespace quarry::gateway {

/// Returns whether a request is certainly for a web page. Such a request is a GET, a HEAD or a
/// submitted form, and no word in PATH can be an endpoint of the pool. All other requests go to the
/// pool. If such a request turns out to be for a page, the pool passes it on.
bool is_certainly_page(std::string_view method, std::string_view path,
                       std::string_view content_type);

}  // namespace quarry::gateway
