// Selects the requests that bypass the pool and go to the page server. These requests neither wait
// for a worker nor occupy one.
#pragma once

#include <string_view>

namespace quarry::gateway {

/// Returns whether a request is certainly for a web page. Such a request is a GET, a HEAD or a
/// submitted form, and no word in PATH can be an endpoint of the pool. All other requests go to the
/// pool. If the pool gets a request for a page, it passes the request on.
bool is_certainly_page(std::string_view method, std::string_view path,
                       std::string_view content_type);

}  // namespace quarry::gateway
