// A request as `fossil http --scgi` reads it (SCGI): a netstring of names and values, then the body.
//
//   70:CONTENT_LENGTH NUL 27 NUL SCGI NUL 1 NUL … ,body
#pragma once

#include <string>

#include "quarry/http/reply_header.h"
#include "request/page_request.h"

namespace quarry::pages {

/// What stands before the body of REQUEST. Left out is what fossil could mistake for something
/// else: parameters that no web server sets by itself but the headers of the visitor, of these
/// Proxy, and REMOTE_USER unless TRUST_REMOTE_USER. The path is told as PATH_INFO, what of it the
/// web server has taken off as SCRIPT_NAME.
std::string scgi_head(const PageRequest& request, bool trust_remote_user);

/// That of a reply, as a web server reads it. Its own Date and Connection are its own affair.
std::string header_block(const http::ReplyHeader& header);

}  // namespace quarry::pages
