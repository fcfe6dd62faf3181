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
    {303, "See Other"},
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

// A status or an error code can occur several times. Searches in both directions use the first
// entry that matches.
constexpr auto kErrorStatuses = std::to_array<std::pair<int, ErrorCode>>({
    {400, ErrorCode::kInvalid},
    {403, ErrorCode::kDenied},
    {404, ErrorCode::kNotFound},
    {409, ErrorCode::kConflict},
    {409, ErrorCode::kLimit},
    {503, ErrorCode::kBusy},
    {507, ErrorCode::kNoSpace},
    {401, ErrorCode::kDenied},
    {411, ErrorCode::kInvalid},
    {413, ErrorCode::kLimit},
    {415, ErrorCode::kInvalid},
});

}  // namespace

std::string_view reason_phrase(int status) {
  const auto* const found =
      std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == kReasons.end() ? "Unknown" : found->second;
}

int status_of(ErrorCode code) {
  const auto* const found =
      std::ranges::find(kErrorStatuses, code, [](auto& row) { return row.second; });
  return found == kErrorStatuses.end() ? 500 : found->first;
}

ErrorCode error_code_of(long status) {
  const auto* const found =
      std::ranges::find(kErrorStatuses, status, [](auto& row) { return row.first; });
  return found == kErrorStatuses.end() ? ErrorCode::kIo : found->second;
}

}  // namespace quarry::http
