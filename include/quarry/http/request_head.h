// Strict checks of a request's head, before evhttp parses the head and before the body is read.
//
// evhttp alone is too lenient: it uses the first of two Content-Lengths, ignores unknown
// Transfer-Encodings, treats a POST without a length as a POST without a body, accepts chunk size
// lines of any length, and answers refused requests with HTML. The gateway therefore refuses
// ambiguous requests itself (RFC 9112, sections 3 to 7). This prevents request smuggling: a proxy
// and the gateway must not interpret the same bytes as different requests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/http/web_page.h"

namespace quarry::http {

/// Status and text of a reply with which the gateway refuses a request.
struct Refusal {
  int status = 400;
  /// A single line, without a newline.
  std::string text;
};

inline constexpr std::string_view kAllowedMethods = "GET, HEAD, POST";

/// Returns the size of the empty lines (LF or CR LF) at the start of BYTES. Empty lines before a
/// request line are skipped (RFC 9112, section 2.2).
std::size_t size_of_empty_lines(std::string_view bytes);

/// Checks HEAD, the request line and headers including the empty line. Returns the refusal, or
/// nullopt if the request is accepted. MAX_BODY is the limit on Content-Length. If CAN_DECODE is
/// true, a POST can have a chunked body (chunked_body.h) instead of a Content-Length.
std::optional<Refusal> refuse_head(std::string_view head, std::size_t max_body,
                                   bool can_decode = false);

/// The fields of a request with a chunked body. HEAD is a head that refuse_head() has accepted.
struct ChunkedHead {
  /// Parses HEAD. Returns nullopt if the request does not have a chunked body.
  static std::optional<ChunkedHead> in(std::string_view head);
  /// Returns the head of the same request with Content-Length: LENGTH.
  std::string with_content_length(std::size_t length) const;

  /// The request line and the fields, without Transfer-Encoding, Expect and the empty line.
  std::string rest;
  bool expects_continue = false;
};

/// The client that gets a refusal.
struct Asker {
  bool head_only = false;  // the request is a HEAD request
  /// Whether the client gets errors as web pages (web_page.h). True for a browser, unless the
  /// request is a sync.
  bool wants_page = false;
  std::string request_id{};  // see request_id.h

  /// Returns the client that sent HEAD, which can be incomplete. The id is the value of
  /// X-Request-ID in HEAD, and might be invalid or empty.
  static Asker of(std::string_view head);
};

/// Returns the complete reply for REFUSAL. The connection has to be closed after the reply. A page
/// links to the root of the server, which serves PLACE.
std::string refusal_page(const Refusal& refusal, const Asker& asker,
                         PlaceKind place = PlaceKind::kFolder);

}  // namespace quarry::http
