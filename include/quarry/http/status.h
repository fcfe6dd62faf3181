#pragma once

#include <string_view>

#include "quarry/base/result.h"

namespace quarry::http {

/// The reason phrase of an HTTP status code: "Not Found" for 404; "Unknown" for codes that Quarry
/// does not use (RFC 9110, section 15).
std::string_view reason_phrase(int status);

/// The HTTP status for an error of CODE.
int status_of(base::ErrorCode code);
/// The error code for a reply with STATUS; kIo if no code corresponds to it.
base::ErrorCode error_code_of(long status);

}  // namespace quarry::http
