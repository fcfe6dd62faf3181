#pragma once

#include <string_view>

#include "quarry/base/result.h"

namespace quarry::http {

/// Returns the reason phrase of an HTTP status code, such as "Not Found" for 404 (RFC 9110, section
/// 15). Returns "Unknown" for codes that Quarry does not use.
std::string_view reason_phrase(int status);

/// Returns the HTTP status for an error with CODE.
int status_of(ErrorCode code);
/// Returns the error code for a reply with STATUS, or kIo if no other code corresponds to STATUS.
ErrorCode error_code_of(long status);

}  // namespace quarry::http
