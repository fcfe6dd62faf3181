// Checks the head of a FastCGI request before libfcgi reads it.
//
// libfcgi allocates memory for any declared size, and waits for all declared data. Therefore the
// worker first peeks at the received data. libfcgi then reads only well-formed requests
// (quarry/http/fastcgi.h) within the limits:
//
//   request  BEGIN_REQUEST (responder) · PARAMS… · PARAMS (empty) · STDIN… · STDIN (empty)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "quarry/http/fastcgi.h"

namespace quarry::worker {

enum class HeadVerdict {
  kIncomplete,  // valid, but incomplete
  kComplete,    // all parameters have arrived
  kGetValues,   // not a request, but a GET_VALUES record
  kMalformed,   // not a valid request
  kTooLarge,    // too many parameters, or too many bytes of them
};

struct HeadCheck {
  HeadVerdict verdict = HeadVerdict::kIncomplete;
  /// Whether the body has also arrived. Reading the request then does not block.
  bool is_whole = false;
  /// For kGetValues: the length of the whole record, and its content.
  std::size_t size = 0;
  std::string_view content{};
};

/// Maximum size of a head. This size is enough for the largest allowed parameters if each of their
/// records has at least 16 bytes.
constexpr std::size_t kMaxHeadSize = http::kMaxParamsSize * 2;

/// Checks BYTES, the beginning of the data on a connection.
HeadCheck check_head(std::string_view bytes);
/// Returns the parameters in BYTES, for which check_head() returned kComplete.
std::string params_of(std::string_view bytes);

}  // namespace quarry::worker
