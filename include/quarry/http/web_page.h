// What all web pages of our own have in common, so that one who answers a request in any process can
// show one: the frame with its style sheet, the headers that go with it, and the pages that say what
// went wrong, which are for browsers alone; programs get the same as a line of text.
//
// A page needs nothing from anywhere else: its style sheet is in it, and the Content-Security-Policy
// allows that one and, of a live page, one script, both by their hashes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::http {

inline constexpr std::string_view kPageType = "text/html; charset=utf-8";

/// A page: TITLE is text, MAIN markup in which all that came from outside is escaped, and SCRIPT
/// (empty: none) a script of ours, without "</script".
std::string web_page(std::string_view title, std::string_view main, std::string_view script = {});

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

/// The headers of a page with SCRIPT, beside its type: nobody keeps it, and it can do nothing but
/// be read. With a script it may ask its own server.
HeaderFields web_page_fields(std::string_view script = {});
/// The same as lines, each with its end.
std::string web_page_headers(std::string_view script = {});

/// Whether who sends the header ACCEPT is to have pages: it names text/html, and likes neither plain
/// text nor JSON more. Who takes anything, as curl does, is no browser.
bool prefers_html(std::string_view accept);

/// Whether who sends the header ACCEPT_ENCODING names gzip, and not to refuse it.
bool takes_gzip(std::string_view accept_encoding);

/// The page that says that a request had STATUS, 400 or more, why (TEXT, escaped here, without a
/// full stop), and what can be done.
std::string error_page(int status, std::string_view text);

}  // namespace quarry::http
