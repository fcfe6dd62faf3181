// Decides which requests bypass the pool and go to the page server, so that they neither wait for a
// worker nor occupy one.
#pragma once

#include <string_view>

namespace quarry::gateway {

/// Returns whether a request is certainly for a web page: a GET, a HEAD or a submitted form whose
/// PATH contains no word that may be an endpoint of the pool. Doubtful requests go to the pool,
/// which passes them on if they are for a page.
bool is_certainly_page(std::string_view method, std::string_view path,
                       std::string_view content_type);

}  // namespace quarry::gateway
