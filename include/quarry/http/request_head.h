// Strict checks of a request's head, before evhttp parses it and before any of the body is read.
//
// evhttp alone is too lenient: it uses the first of two Content-Lengths, ignores unknown
// Transfer-Encodings, treats a POST without a length as one without a body, accepts chunk size
// lines of any length, and answers refused requests with HTML. Ambiguous requests are refused here
// (RFC 9112, sections 3 to 7), so that a proxy and the gateway cannot interpret the same bytes as
// different requests (request smuggling).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// The status and text with which the gateway itself refuses a request.
struct Refusal {
  int status = 400;
  /// One line, without a newline.
  std::string text;
};

inline constexpr std::string_view kAllowedMethods = "GET, HEAD, POST";

/// The size of the empty lines (LF or CR LF) at the start of BYTES. They are skipped before a
/// request line (RFC 9112, section 2.2).
std::size_t size_of_empty_lines(std::string_view bytes);

/// Checks HEAD, a request's first line and headers including the empty line. Returns why it is
/// refused, or nullopt if it is accepted. MAX_BODY is the limit on Content-Length.
std::optional<Refusal> refuse_head(std::string_view head, std::size_t max_body);

/// Whether the client that sent HEAD gets errors as web pages (web_page.h): true for a browser
/// unless it is syncing.
bool wants_page(std::string_view head);

/// The client that gets a refusal.
struct Asker {
  bool head_only = false;   // the request is a HEAD request
  bool wants_page = false;  // the client is a browser
};

/// The complete reply for REFUSAL. The connection has to be closed after it.
std::string refusal_page(const Refusal& refusal, const Asker& asker);

}  // namespace quarry::http
