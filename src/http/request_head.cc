#include "quarry/http/request_head.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "quarry/base/blanks.h"
#include "quarry/base/number.h"
#include "quarry/http/request_id.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"

namespace quarry::http {
namespace {

/// Maximum number of fields, which is far more than any client sends. The limit is needed because
/// some checks take quadratic time.
constexpr std::size_t kMaxFields = 100;

using Verdict = std::optional<Refusal>;

Refusal refuse(int status, std::string text) {
  return {.status = status, .text = std::move(text)};
}

struct Head {
  std::string_view method;
  std::string_view version;
  std::size_t fields = 0;
  std::size_t hosts = 0;
  std::optional<std::uint64_t> content_length;
  std::size_t transfer_encodings = 0;
  bool is_chunked = false;
};

Verdict read_request_line(std::string_view line, Head& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return refuse(400, "the request line is malformed");
  }
  head.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  head.version = line.substr(last + 1);
  const bool printable = std::all_of(target.begin(), target.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
  });
  if (!is_token(head.method) || target.empty() || !printable) {
    return refuse(400, "the request line is malformed");
  }
  if (head.version != "HTTP/1.1" && head.version != "HTTP/1.0") {
    if (!head.version.starts_with("HTTP/")) return refuse(400, "the request line is malformed");
    return refuse(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  }
  return std::nullopt;
}

Verdict read_field(std::string_view line, Head& head) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  const std::string_view value =
      colon == std::string_view::npos ? "" : base::trim_blanks(line.substr(colon + 1));
  if (colon == std::string_view::npos || !is_token(name) || !is_field_value(value)) {
    return refuse(400, "a header line is malformed");
  }
  if (++head.fields > kMaxFields) {
    return refuse(431, fmt::format("more than {} headers", kMaxFields));
  }
  if (same_name(name, "Content-Length")) {
    const auto length = base::parse_number<std::uint64_t>(value);
    if (!length || head.content_length) return refuse(400, "Content-Length is malformed");
    head.content_length = length;
  } else if (same_name(name, "Transfer-Encoding")) {
    ++head.transfer_encodings;
    head.is_chunked = same_name(value, "chunked");
  } else if (same_name(name, "Host")) {
    if (!is_host(value)) return refuse(400, "the Host header is malformed");
    ++head.hosts;
  } else if (same_name(name, "Expect") && !same_name(value, "100-continue")) {
    return refuse(417, "only the expectation 100-continue is supported");
  }
  return std::nullopt;
}

Verdict judge_transfer_encoding(const Head& head, bool can_decode) {
  if (head.content_length) {
    return refuse(400, "Content-Length and Transfer-Encoding cannot be combined");
  }
  if (!can_decode) return refuse(411, "a body needs a Content-Length");
  if (head.version == "HTTP/1.0") return refuse(400, "HTTP/1.0 does not allow Transfer-Encoding");
  if (head.transfer_encodings > 1 || !head.is_chunked) {
    return refuse(501, "only the Transfer-Encoding chunked is supported");
  }
  if (head.method != "POST") {
    return refuse(400, fmt::format("{} requests must not have a body", head.method));
  }
  return std::nullopt;
}

Verdict judge(const Head& head, std::size_t max_body, bool can_decode) {
  if (head.method != "GET" && head.method != "HEAD" && head.method != "POST") {
    return refuse(405, fmt::format("only {} are allowed", kAllowedMethods));
  }
  if (head.hosts > 1 || (head.hosts == 0 && head.version == "HTTP/1.1")) {
    return refuse(400, "exactly one Host header is required");
  }
  if (head.transfer_encodings > 0) return judge_transfer_encoding(head, can_decode);
  const std::uint64_t length = head.content_length.value_or(0);
  if (head.method != "POST") {
    if (length > 0)
      return refuse(400, fmt::format("{} requests must not have a body", head.method));
    return std::nullopt;
  }
  if (!head.content_length) return refuse(411, "a body needs a Content-Length");
  if (length > max_body) {
    return refuse(413, fmt::format("a body of {} bytes exceeds the limit of {}", length, max_body));
  }
  return std::nullopt;
}

}  // namespace

std::size_t size_of_empty_lines(std::string_view bytes) {
  std::size_t size = 0;
  while (size < bytes.size()) {
    const std::size_t end = size + (bytes[size] == '\r' ? 1 : 0);
    if (end == bytes.size() || bytes[end] != '\n') break;
    size = end + 1;
  }
  return size;
}

std::optional<Refusal> refuse_head(std::string_view text, std::size_t max_body, bool can_decode) {
  Head head;
  if (auto verdict = read_request_line(take_line(text), head)) return verdict;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty()) break;
    if (auto verdict = read_field(line, head)) return verdict;
  }
  return judge(head, max_body, can_decode);
}

std::optional<ChunkedHead> ChunkedHead::in(std::string_view text) {
  ChunkedHead head;
  bool is_chunked = false;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty()) break;
    const std::string_view name = line.substr(0, line.find(':'));
    if (same_name(name, "Transfer-Encoding")) {
      is_chunked = true;
    } else if (same_name(name, "Expect")) {
      head.expects_continue = true;
    } else {
      head.rest.append(line).append("\r\n");
    }
  }
  if (!is_chunked) return std::nullopt;
  return head;
}

std::string ChunkedHead::with_content_length(std::size_t length) const {
  return fmt::format("{}Content-Length: {}\r\n\r\n", rest, length);
}

Asker Asker::of(std::string_view text) {
  constexpr std::string_view kOfSyncs = "application/x-fossil";
  Asker asker{.head_only = text.starts_with("HEAD ")};
  std::string_view accept;
  bool is_sync = false;
  take_line(text);
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = base::trim_blanks(line.substr(std::min(colon + 1, line.size())));
    if (same_name(name, "Accept")) accept = value;
    if (same_name(name, "Content-Type")) {
      is_sync = is_sync || same_name(value.substr(0, kOfSyncs.size()), kOfSyncs);
    }
    if (same_name(name, kRequestIdHeader) && asker.request_id.empty()) {
      asker.request_id = value.substr(0, kMaxRequestId + 1);
    }
  }
  asker.wants_page = !is_sync && prefers_html(accept);
  return asker;
}

std::string refusal_page(const Refusal& refusal, const Asker& asker, PlaceKind place) {
  const std::string_view reason = reason_phrase(refusal.status);
  const std::string body = asker.wants_page
                               ? error_page(refusal.status, refusal.text, {.kind = place})
                               : fmt::format("{} {}: {}\n", refusal.status, reason, refusal.text);
  std::string page =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", refusal.status,
                  reason, asker.wants_page ? kPageType : "text/plain; charset=utf-8", body.size());
  if (asker.wants_page) page += web_page_headers();
  if (refusal.status == 405) page += fmt::format("Allow: {}\r\n", kAllowedMethods);
  if (!asker.request_id.empty()) {
    page += fmt::format("{}: {}\r\n", kRequestIdHeader, asker.request_id);
  }
  page += "Connection: close\r\n\r\n";
  if (!asker.head_only) page += body;
  return page;
}

}  // namespace quarry::http
