// Encodes a request for `fossil http --scgi` (SCGI): a netstring of names and values, then the
// body.
//
//   70:CONTENT_LENGTH NUL 27 NUL SCGI NUL 1 NUL … ,body
#pragma once

#include <string>

#include "quarry/http/reply_header.h"
#include "request/page_request.h"

namespace quarry::pages {

/// Returns the SCGI header for REQUEST. Parameters that fossil could misinterpret are left out:
/// those that are neither set by web servers nor client headers, the Proxy header, and REMOTE_USER
/// unless TRUST_REMOTE_USER. The path is passed as PATH_INFO, and the prefix that the web server
/// has removed as SCRIPT_NAME.
std::string scgi_head(const PageRequest& request, bool trust_remote_user);

/// Returns the header block of a reply for the web server, which adds Date and Connection itself.
std::string header_block(const http::ReplyHeader& header);

}  // namespace quarry::pages
