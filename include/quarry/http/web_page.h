// The common parts of Quarry's own web pages: the frame with its style sheet, the headers, and
// error pages. Only browsers get error pages; other programs get a line of text.
//
// A page does not load other resources, and its style sheet is inline. The Content-Security-Policy
// contains the hash of the style sheet and, on a live page, the hash of its only script.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::http {

inline constexpr std::string_view kPageType = "text/html; charset=utf-8";

/// Returns a page. TITLE is plain text. MAIN is markup in which untrusted text is already escaped.
/// SCRIPT is trusted and must not contain "</script"; it can be empty.
std::string web_page(std::string_view title, std::string_view main, std::string_view script = {});

enum class Forms { kNone, kToOwnServer };

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

/// Returns the headers of a page with SCRIPT, except Content-Type. The headers disable caching and
/// restrict the page's permissions. The script and the forms of a page can send requests only to the
/// page's server.
HeaderFields web_page_fields(std::string_view script = {}, Forms forms = Forms::kNone);
/// Returns the same headers as text. Each header ends with a line end.
std::string web_page_headers(std::string_view script = {}, Forms forms = Forms::kNone);

/// Returns whether the header ACCEPT comes from a browser, that is, contains text/html and does not
/// prefer plain text or JSON. A header that accepts anything, such as curl's, does not count as a
/// browser's.
bool prefers_html(std::string_view accept);

/// Returns whether the header ACCEPT contains OpenMetrics 1.0.0 and does not prefer plain text.
bool prefers_openmetrics(std::string_view accept);

/// Returns whether the header ACCEPT_ENCODING allows gzip.
bool takes_gzip(std::string_view accept_encoding);

/// Returns an error page with advice for STATUS (400 or more). TEXT is the reason, unescaped and
/// without a full stop.
std::string error_page(int status, std::string_view text);

}  // namespace quarry::http
