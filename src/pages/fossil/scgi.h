// A request as `fossil http --scgi` reads it (SCGI): a netstring of names and values, then the body.
//
//   70:CONTENT_LENGTH NUL 27 NUL SCGI NUL 1 NUL … ,body
#pragma once

#include <string>

#include "request/page_request.h"

namespace quarry::pages {

/// What stands before the body of REQUEST. Left out is what fossil could mistake for something
/// else: parameters that no web server sets by itself but the headers of the visitor, of these
/// Proxy, and REMOTE_USER unless TRUST_REMOTE_USER. The path is told as PATH_INFO, what of it the
/// web server has taken off as SCRIPT_NAME.
std::string scgi_head(const PageRequest& request, bool trust_remote_user);

}  // namespace quarry::pages
