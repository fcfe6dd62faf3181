// Which requests go past the pool, to who makes the web pages: so that none of them waits for a
// worker, or has one wait.
#pragma once

#include <string_view>

namespace quarry::gateway {

/// Whether a request can be for nothing else: a GET or HEAD, or a form that was sent, and nowhere in
/// PATH a word that may mean an endpoint of the pool. What is not sure is the pool's to decide, which
/// passes it on.
bool is_surely_page(std::string_view method, std::string_view path, std::string_view content_type);

}  // namespace quarry::gateway
