// The common parts of Quarry's own web pages, for every process that answers requests: the frame
// with its style sheet, the headers, and error pages. Only browsers get error pages; other programs
// get a line of text.
//
// A page loads no other resources: its style sheet is inline, and the Content-Security-Policy allows
// only that style sheet and, on a live page, one script, both by their hashes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::http {

inline constexpr std::string_view kPageType = "text/html; charset=utf-8";

/// A page. TITLE is plain text. MAIN is markup in which untrusted text is already escaped. SCRIPT
/// (may be empty) is trusted and must not contain "</script".
std::string web_page(std::string_view title, std::string_view main, std::string_view script = {});

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

/// The headers of a page with SCRIPT, except Content-Type: they disable caching and restrict what
/// the page may do. A page with a script may send requests to its own server.
HeaderFields web_page_fields(std::string_view script = {});
/// The same as text, each header with its line end.
std::string web_page_headers(std::string_view script = {});

/// Whether the header ACCEPT comes from a browser: it names text/html, and does not prefer plain
/// text or JSON. A client that accepts anything, like curl, does not count as a browser.
bool prefers_html(std::string_view accept);

/// Whether the header ACCEPT_ENCODING allows gzip.
bool takes_gzip(std::string_view accept_encoding);

/// An error page for STATUS (400 or more) with advice. TEXT is the reason, which is escaped here
/// and has no full stop.
std::string error_page(int status, std::string_view text);

}  // namespace quarry::http
