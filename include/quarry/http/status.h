#pragma once

#include <string_view>

#include "quarry/base/result.h"

namespace quarry::http {

/// What stands beside the status code of an HTTP reply: "Not Found" for 404; "Unknown" for one that
/// nothing here uses (RFC 9110, section 15).
std::string_view reason_phrase(int status);

/// The status of a reply about an error of CODE.
int status_of(base::ErrorCode code);
/// The code of the error that a reply of STATUS is about; kIo if it says no more.
base::ErrorCode error_code_of(long status);

}  // namespace quarry::http
