// Who is let in: the first look at a request, before evhttp parses it and before any body is read.
//
// evhttp alone is too kind. It takes the first of two Content-Lengths, ignores a Transfer-Encoding
// that it does not know, reads a POST without length as one without body, reads a chunk's size line
// of any length, and answers what it refuses in HTML. Everything of that kind is settled here (RFC
// 9112, sections 3 to 7), so that a proxy in front and the gateway can never see two different
// requests in the same bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::http {

/// An answer that the gateway gives itself.
struct Refusal {
  int status = 400;
  /// One line, without its newline.
  std::string text;
};

inline constexpr std::string_view kAllowedMethods = "GET, HEAD, POST";

/// How many bytes at the start of BYTES are empty lines, each LF or CR LF. What stands before a
/// request line like that is passed over (RFC 9112, section 2.2).
std::size_t size_of_empty_lines(std::string_view bytes);

/// HEAD is a request's first line and headers, the empty line included. Returns why it is refused,
/// or nothing when it is let in. MAX_BODY: the most that Content-Length may say.
std::optional<Refusal> refuse_head(std::string_view head, std::size_t max_body);

/// Whether who sent HEAD, as refuse_head() has it, is to be answered by pages (web_page.h): a browser,
/// and not in a sync.
bool wants_page(std::string_view head);

/// To whom a refusal goes.
struct Asker {
  bool head_only = false;   // a HEAD request
  bool wants_page = false;  // a browser
};

/// The whole reply for REFUSAL, which is the connection's last.
std::string refusal_page(const Refusal& refusal, const Asker& asker);

}  // namespace quarry::http
