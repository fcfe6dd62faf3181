// Strict checks of a request's head, before evhttp parses it and before any of the body is read.
//
// evhttp alone is too lenient: it uses the first of two Content-Lengths, ignores unknown
// Transfer-Encodings, treats a POST without length as one without body, accepts chunk size lines of
// any length, and refuses requests with HTML. Such requests are refused here (RFC 9112, sections 3 to
// 7), so that a proxy and the gateway cannot interpret the same bytes as different requests (request
// smuggling).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// A refusal by the gateway itself.
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
/// refused, or nullopt if it is accepted. MAX_BODY: limit on Content-Length.
std::optional<Refusal> refuse_head(std::string_view head, std::size_t max_body);

/// Whether the client that sent HEAD gets errors as web pages (web_page.h): a browser that is not
/// syncing.
bool wants_page(std::string_view head);

/// The client that gets a refusal.
struct Asker {
  bool head_only = false;   // a HEAD request
  bool wants_page = false;  // a browser
};

/// The complete reply for REFUSAL, after which the connection is closed.
std::string refusal_page(const Refusal& refusal, const Asker& asker);

}  // namespace quarry::http
