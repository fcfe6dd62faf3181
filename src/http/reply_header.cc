#include "quarry/http/reply_header.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "quarry/base/blanks.h"
#include "quarry/base/number.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"

namespace quarry::http {
namespace {

constexpr std::array<std::string_view, 7> kOneHop = {
    "connection", "keep-alive",        "proxy-connection", "te",
    "trailer",    "transfer-encoding", "upgrade"};

std::unexpected<Error> broken(std::string what) {
  return fail(ErrorCode::kInvalid, std::move(what));
}

Result<void> take_status(std::string_view value, ReplyHeader& header) {
  const std::string_view number = value.substr(0, 3);
  header.status = base::parse_number<int>(number).value_or(0);
  // Reject 1xx statuses, because they are interim responses and not replies.
  if (number.size() != 3 || header.status < 200 || header.status > 599 ||
      (value.size() > 3 && value[3] != ' ')) {
    return broken(fmt::format("invalid status \"{}\"", value));
  }
  header.reason = base::trim_blanks(value.substr(3));
  return {};
}

Result<void> take_length(std::string_view value, ReplyHeader& header) {
  const auto length = base::parse_number<std::uint64_t>(value);
  if (!length || header.content_length) {
    return broken(fmt::format("invalid Content-Length \"{}\"", value));
  }
  header.content_length = length;
  return {};
}

Result<void> take_field(std::string_view line, ReplyHeader& header, bool& has_status) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || !is_token(name)) {
    return broken(fmt::format("invalid header line \"{}\"", line.substr(0, 100)));
  }
  const std::string_view value = base::trim_blanks(line.substr(colon + 1));
  if (!is_field_value(value)) return broken(fmt::format("invalid value of header {}", name));
  if (same_name(name, "Status")) {
    has_status = true;
    return take_status(value, header);
  }
  if (same_name(name, "Content-Length")) return take_length(value, header);
  const bool one_hop = std::any_of(kOneHop.begin(), kOneHop.end(),
                                   [&](std::string_view other) { return same_name(name, other); });
  if (!one_hop) header.fields.emplace_back(name, value);
  return {};
}

}  // namespace

std::size_t header_block_size(std::string_view bytes) {
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos;
       at = bytes.find('\n', at + 1)) {
    if (at + 1 < bytes.size() && bytes[at + 1] == '\n') return at + 2;
    if (at + 2 < bytes.size() && bytes[at + 1] == '\r' && bytes[at + 2] == '\n') return at + 3;
  }
  return std::string_view::npos;
}

Result<ReplyHeader> parse_reply_header(std::string_view block) {
  ReplyHeader header;
  bool has_status = false;
  while (!block.empty()) {
    const std::string_view line = take_line(block);
    if (line.empty()) break;
    QUARRY_TRY(take_field(line, header, has_status));
  }
  if (!has_status) {
    const bool moved =
        std::any_of(header.fields.begin(), header.fields.end(),
                    [](const auto& field) { return same_name(field.first, "Location"); });
    if (moved) header.status = 302;
    if (header.fields.empty() && !header.content_length) return broken("it has no headers");
  }
  if (header.reason.empty()) header.reason = reason_phrase(header.status);
  return header;
}

}  // namespace quarry::http
