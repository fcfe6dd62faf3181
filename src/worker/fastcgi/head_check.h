// The head of a FastCGI request, looked at before libfcgi sees it.
//
// libfcgi takes memory for whatever lengths a peer claims, and waits for whatever it promised. So
// the worker first looks at what has come (without taking it from the socket) and lets libfcgi read
// only what is a well-formed request (quarry/http/fastcgi.h) within the limits:
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
  kIncomplete,  // right so far
  kComplete,    // all parameters are there
  kGetValues,   // not a request yet: a question, see management.h
  kMalformed,   // not a request that a web server would send
  kTooLarge,    // more parameters, or more bytes of them, than allowed
};

struct HeadCheck {
  HeadVerdict verdict = HeadVerdict::kIncomplete;
  /// The body is there too: whoever reads the request will not have to wait.
  bool is_whole = false;
  /// Of kGetValues: how long the whole record is, and its content.
  std::size_t size = 0;
  std::string_view content{};
};

/// Bytes in which every head within the limits fits, however it is cut into records of at least 16
/// bytes.
constexpr std::size_t kMaxHeadSize = http::kMaxParamsSize * 2;

/// Looks at BYTES, the beginning of what a connection sent.
HeadCheck check_head(std::string_view bytes);
/// All parameters of BYTES, for which check_head() said kComplete, as pairs of name and value.
std::string params_of(std::string_view bytes);

}  // namespace quarry::worker
