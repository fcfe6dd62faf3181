// Encodes a request for `fossil http --scgi` (SCGI): a netstring of names and values, then the
// body.
//
//   70:CONTENT_LENGTH NUL 27 NUL SCGI NUL 1 NUL … ,body
#pragma once

#include <string>

#include "quarry/http/reply_header.h"
#include "request/page_request.h"

namespace quarry::pages {

/// Returns the SCGI header for REQUEST, with each parameter once. Passes on the parameters that web
/// servers set and the client's headers except Proxy. Other parameters are dropped, because fossil
/// could misinterpret them. REMOTE_USER is passed on only if TRUST_REMOTE_USER. PATH_INFO is the
/// path, and SCRIPT_NAME is the prefix that the web server has removed.
std::string scgi_head(const PageRequest& request, bool trust_remote_user);

/// Returns the header block of a reply for the web server. Leaves out Date, because the web server
/// itself adds it.
std::string header_block(const http::ReplyHeader& header);

}  // namespace quarry::pages
