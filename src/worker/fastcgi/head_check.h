// Checks the head of a FastCGI request before libfcgi reads it.
//
// libfcgi allocates as much as a peer declares, and waits for whatever a peer announces. Therefore
// the worker first peeks at what has arrived, and lets libfcgi read only well-formed requests
// (quarry/http/fastcgi.h) within the limits:
//
//   request  BEGIN_REQUEST (responder) · PARAMS… · PARAMS (empty) · STDIN… · STDIN (empty)
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/http/fastcgi.h"

namespace quarry::worker {

enum class HeadVerdict {
  kIncomplete,  // valid so far
  kComplete,    // all parameters have arrived
  kGetValues,   // not a request but a query: a GET_VALUES record
  kMalformed,   // not a request that a web server would send
  kTooLarge,    // more parameters, or more bytes of them, than allowed
};

struct HeadCheck {
  HeadVerdict verdict = HeadVerdict::kIncomplete;
  /// Whether the body has also arrived, so that reading the request does not block.
  bool is_whole = false;
  /// For kGetValues: the length of the whole record, and its content.
  std::size_t size = 0;
  std::string_view content{};
};

/// Enough bytes for every head within the limits that is split into records of at least 16 bytes.
constexpr std::size_t kMaxHeadSize = http::kMaxParamsSize * 2;

/// Checks BYTES, the beginning of what a connection has sent.
HeadCheck check_head(std::string_view bytes);
/// Returns the parameters in BYTES, for which check_head() returned kComplete.
std::string params_of(std::string_view bytes);

}  // namespace quarry::worker
