#include "quarry/http/status.h"

#include <algorithm>
#include <array>
#include <utility>

namespace quarry::http {
namespace {

constexpr auto kReasons = std::to_array<std::pair<int, std::string_view>>({
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
});

}  // namespace

std::string_view reason_phrase(int status) {
  const auto* const found =
      std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == kReasons.end() ? "Unknown" : found->second;
}

int status_of(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::kInvalid:
      return 400;
    case base::ErrorCode::kDenied:
      return 403;
    case base::ErrorCode::kNotFound:
      return 404;
    case base::ErrorCode::kLimit:
    case base::ErrorCode::kConflict:
      return 409;
    case base::ErrorCode::kBusy:
      return 503;
    case base::ErrorCode::kNoSpace:
      return 507;
    default:
      return 500;
  }
}

base::ErrorCode error_code_of(long status) {
  switch (status) {
    case 400:
    case 411:
    case 415:
      return base::ErrorCode::kInvalid;
    case 401:
    case 403:
      return base::ErrorCode::kDenied;
    case 404:
      return base::ErrorCode::kNotFound;
    case 409:
      return base::ErrorCode::kConflict;
    case 413:
      return base::ErrorCode::kLimit;
    case 503:
      return base::ErrorCode::kBusy;
    case 507:
      return base::ErrorCode::kNoSpace;
    default:
      return base::ErrorCode::kIo;
  }
}

}  // namespace quarry::http
