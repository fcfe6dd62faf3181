// The common parts of Quarry's own web pages: the frame with its style sheet, the headers, and
// error pages. Only browsers get error pages; other programs get a line of text.
//
// A page does not load other resources: its style sheet, its icon and the project's mark are
// inline. The Content-Security-Policy contains the hash of the style sheet and, on a live page, the
// hash of its only script.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::http {

inline constexpr std::string_view kPageType = "text/html; charset=utf-8";

/// A link in the header of a page. URL and TEXT are plain text.
struct PageLink {
  std::string url;
  std::string text;
  bool is_aside = false;  // shown at the end of the header: does not lead to a page above
};

/// Returns a page. TITLE is plain text. MAIN is markup in which untrusted text is already escaped.
/// The header links to the pages ABOVE this page, the outermost first. SCRIPT is trusted and must
/// not contain "</script"; it can be empty.
std::string web_page(std::string_view title, std::string_view main,
                     const std::vector<PageLink>& above = {}, std::string_view script = {});

enum class Forms { kNone, kToOwnServer };

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

/// Returns the headers of a page with SCRIPT, except Content-Type. The headers disable caching and
/// restrict the page's permissions. The script and the forms of a page can send requests only to
/// the page's server.
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

/// The kind of the place that a server serves, for the links of error pages.
enum class PlaceKind {
  kFolder,      // a folder of repositories without an index
  kIndex,       // a folder with an index, which is the page at BASE/
  kRepository,  // a single repository, whose home page is at BASE/
};
/// Returns the kind of a place that is a single repository (IS_REPOSITORY) or has an index.
PlaceKind place_kind(bool is_repository, bool has_index);

/// The place of a request, for the links of its error page.
struct ErrorPlace {
  std::string_view asked = {};  // path of the request
  std::string base = {};        // from base_url(); empty: the root of the server
  PlaceKind kind = PlaceKind::kFolder;
};

/// Returns an error page with advice for STATUS (400 or more). TEXT is the reason, unescaped and
/// without a full stop. The page of a 404 shows what was asked for, where the repositories of PLACE
/// are listed, and how to clone one.
std::string error_page(int status, std::string_view text, const ErrorPlace& place = {});

/// Returns the URL of the served folder or repository, without a trailing slash.
std::string base_url(bool is_https, std::string_view host, std::string_view script_name,
                     std::string_view path_info);

}  // namespace quarry::http
