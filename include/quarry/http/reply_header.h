// The header block of a CGI reply (RFC 3875, section 6) that the pool sends before the body:
//
//   Status: 404 Not Found        optional, 200 without it, 302 with a Location
//   Content-Type: text/plain
//   Content-Length: 12           optional; when there, the body must have it
//                                an empty line ends the block; lines end with LF or CR LF
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::http {

struct ReplyHeader {
  int status = 200;
  std::string reason;
  /// Fields to pass on: all but Status, Content-Length and what belongs to one hop only.
  std::vector<std::pair<std::string, std::string>> fields;
  std::optional<std::uint64_t> content_length;
};

/// Bytes of BYTES up to and with the empty line that ends the block; npos when it has not come.
std::size_t header_block_size(std::string_view bytes);

/// Reads BLOCK, which ends with its empty line. Errors: kInvalid, for the log.
base::Result<ReplyHeader> parse_reply_header(std::string_view block);

}  // namespace quarry::http
