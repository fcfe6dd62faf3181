// The header block of a CGI reply (RFC 3875, section 6) that the pool sends before the body:
//
//   Status: 404 Not Found        optional; default: 302 if there is a Location, otherwise 200
//   Content-Type: text/plain
//   Content-Length: 12           optional; if present, the body must match it
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
  /// Fields to forward: all except Status, Content-Length and hop-by-hop fields.
  std::vector<std::pair<std::string, std::string>> fields;
  std::optional<std::uint64_t> content_length;
};

/// Returns the size of the header block at the start of BYTES, including the empty line. Returns
/// npos if the block is incomplete.
std::size_t header_block_size(std::string_view bytes);

/// Parses BLOCK, which ends with an empty line. Errors: kInvalid; the message is for the log.
Result<ReplyHeader> parse_reply_header(std::string_view block);

}  // namespace quarry::http
