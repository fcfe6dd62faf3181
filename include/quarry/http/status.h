#pragma once

#include <string_view>

namespace quarry::http {

/// What stands beside the status code of an HTTP reply: "Not Found" for 404; "Unknown" for one that
/// nothing here uses (RFC 9110, section 15).
std::string_view reason_phrase(int status);

}  // namespace quarry::http
