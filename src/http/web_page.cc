#include "quarry/http/web_page.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "quarry/base/blanks.h"
#include "quarry/base/escape.h"
#include "quarry/base/split.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"

namespace quarry::http {
namespace {

// Text colors have a contrast of at least 4.5:1 in light and dark mode.
constexpr std::string_view kStyle =
    ":root{color-scheme:light dark;--ink:#1c1e21;--dim:#5a6169;--paper:#fff;--line:#d5d9de;"
    "--box:#f3f5f7;--link:#0b57c2;--good:#1a7f37;--busy:#9a5b00;--bad:#b3261e}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--dim:#a3abb3;--paper:#15181b;"
    "--line:#363c42;--box:#20252a;--link:#86b7ff;--good:#5bd07a;--busy:#f0b455;--bad:#ff8f87}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:66rem;padding:1.5rem 1rem 3rem;color:var(--ink);"
    "background:var(--paper);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}"
    ".state{font-weight:700}h1{font-size:1.5rem;line-height:1.25;margin:0 0 "
    ".5rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}"
    "p{margin:.5rem 0}a{color:var(--link)}"
    "a:focus-visible,code:focus-visible,pre:focus-visible{outline:3px solid var(--link);"
    "outline-offset:2px}"
    "code,pre{font-family:ui-monospace,monospace;font-size:.9rem}"
    "pre,.copy{background:var(--box);border:1px solid var(--line);border-radius:4px;"
    "padding:.5rem .7rem;margin:.5rem 0;white-space:pre-wrap;user-select:all}"
    ".copy{display:inline-block;margin:0;padding:0 .4rem}.dim,time,footer{color:var(--dim)}"
    "ul{padding:0;margin:0;list-style:none}"
    "li{padding:.7rem 0;border-bottom:1px solid var(--line)}li p{margin:.1rem 0}"
    "li>a,li>strong{font-weight:600}.code{font-size:3rem;font-weight:700;margin:0}"
    "svg{display:block;width:100%;height:auto;background:var(--box);border:1px solid var(--line)}"
    "svg:not(.grid){height:8rem}svg#times{height:auto;min-width:34rem}"
    "svg text{font-size:8px;text-anchor:middle;fill:var(--ink)}"
    "polyline{fill:none;stroke:var(--link);stroke-width:2;vector-effect:non-scaling-stroke}"
    ".line1{stroke:var(--busy)}.second{color:var(--busy)}.bar{fill:var(--link)}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.5rem}"
    ".tiles p{margin:0;padding:.5rem .7rem;background:var(--box);border:1px solid var(--line)}"
    ".tiles b{display:block;font-size:1.4rem}#legend b{font-weight:400}"
    ".idle,.finished{fill:var(--line);color:var(--line)}.starting{fill:var(--dim);color:var(--dim)}"
    ".accepted,.reading{fill:var(--link);color:var(--link)}"
    ".working{fill:var(--busy);color:var(--busy)}.sending{fill:var(--good);color:var(--good)}"
    ".old{stroke:var(--bad);stroke-width:2}#lost{color:var(--bad);font-weight:600}"
    ".stale .tiles,.stale svg{opacity:.5}.wide{overflow-x:auto}"
    // Words are broken only in long texts.
    "th,.wide td{overflow-wrap:break-word}.wide td.long{overflow-wrap:anywhere;min-width:12rem}"
    "table{border-collapse:collapse;width:100%}.wide table{min-width:44rem}"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .7rem .3rem 0;"
    "border-bottom:1px solid var(--line)}"
    "dl{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,1fr);gap:.2rem .7rem}"
    "dt{color:var(--dim)}dd{margin:0}"
    "form{display:flex;flex-wrap:wrap;gap:.5rem;margin:1rem 0}label{flex:1 0 100%}"
    "button,input{font:inherit;padding:.3rem .7rem;max-width:100%}"
    "ins,del{text-decoration:none}ins{color:var(--good)}del{color:var(--bad)}";

/// Returns the hash of TEXT as a source in a Content-Security-Policy.
std::string hash_source(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    return "'none'";
  }
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> base64{};
  const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return fmt::format("'sha256-{}'", std::string_view(reinterpret_cast<const char*>(base64.data()),
                                                     static_cast<std::size_t>(length)));
}

struct AcceptedType {
  std::string_view type;
  std::string_view version = {};  // empty: not given
  double weight = 1;
};

/// Removes the first element from ACCEPT and returns it (RFC 9110, section 12.5.1).
AcceptedType take_accepted(std::string_view& accept) {
  std::string_view piece = base::take_until(accept, ',');
  AcceptedType accepted{base::trim_blanks(piece.substr(0, piece.find(';')))};
  constexpr std::string_view kVersion = "version=";
  if (const std::size_t version = piece.find(kVersion); version != std::string_view::npos) {
    std::string_view rest = piece.substr(version + kVersion.size());
    accepted.version = base::trim_blanks(base::take_until(rest, ';'));
  }
  const std::size_t weight = piece.find("q=");
  if (weight == std::string_view::npos) return accepted;
  piece.remove_prefix(weight + 2);
  if (std::from_chars(piece.data(), piece.data() + piece.size(), accepted.weight).ec !=
      std::errc()) {
    accepted.weight = 0;
  }
  return accepted;
}

/// Returns advice for users whose request was answered with STATUS.
std::string_view advice(int status) {
  switch (status) {
    case 400:
    case 417:
      return "Check the address, or start at the project's home page.";
    case 401:
    case 403:
      return "Log in as a user with access, or ask the administrator of this server for access.";
    case 404:
      return "Check the spelling of the address, including capital letters. The project might have "
             "moved, or you might not have access to it.";
    case 405:
    case 415:
      return "Go back and use the page's links and buttons. To get the project's files, clone it: "
             "fossil clone.";
    case 408:
      return "Your connection might be slow or broken: try again.";
    case 411:
    case 413:
      return "Send less data in one request, or ask the administrator of this server to raise the "
             "limit.";
    case 429:
    case 503:
      return "Nothing is wrong with your request. Wait a few seconds, then reload the page.";
    case 431:
      return "Delete this site's cookies in your browser, or shorten the address, and try again.";
    case 502:
    case 504:
      return "Try again in a minute. If the error persists, report its time to the administrator "
             "of this server: the server's log contains the reason.";
    default:
      return status >= 500
                 ? "Report the time of this error to the administrator of this server: the "
                   "server's log contains the reason. The data that you sent was not stored."
                 : "Go back, or start at the project's home page.";
  }
}

}  // namespace

std::string web_page(std::string_view title, std::string_view main, std::string_view script) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{}</style></head>\n"
      "<body>\n<main>\n{}</main>\n",
      base::escape_page_text(title), kStyle, main);
  if (!script.empty()) page += fmt::format("<script>{}</script>\n", script);
  return page + "</body></html>\n";
}

HeaderFields web_page_fields(std::string_view script, Forms forms) {
  static const std::string kStyleHash = hash_source(kStyle);
  const bool has_forms = forms == Forms::kToOwnServer;
  std::string policy = fmt::format(
      "default-src 'none'; style-src {}; img-src data:; base-uri 'none'; form-action {}; "
      "frame-ancestors 'none'",
      kStyleHash, has_forms ? "'self'" : "'none'");
  if (!script.empty()) {
    policy += fmt::format("; script-src {}; connect-src 'self'", hash_source(script));
  }
  return {{"Content-Security-Policy", std::move(policy)},
          // With "no-referrer", browsers would send "Origin: null" with a form, and the form would
          // be refused.
          {"Referrer-Policy", has_forms ? "same-origin" : "no-referrer"},
          {"Cache-Control", "no-store"},
          {"Vary", "Accept"}};
}

std::string web_page_headers(std::string_view script, Forms forms) {
  std::string lines;
  for (const auto& [name, value] : web_page_fields(script, forms)) {
    lines += fmt::format("{}: {}\r\n", name, value);
  }
  return lines;
}

bool prefers_html(std::string_view accept) {
  double html = 0;
  double other = 0;
  while (!accept.empty()) {
    const AcceptedType accepted = take_accepted(accept);
    if (same_name(accepted.type, "text/html")) html = std::max(html, accepted.weight);
    if (same_name(accepted.type, "text/plain") || same_name(accepted.type, "application/json")) {
      other = std::max(other, accepted.weight);
    }
  }
  return html > 0 && html >= other;
}

bool prefers_openmetrics(std::string_view accept) {
  double openmetrics = 0;
  double text = 0;
  while (!accept.empty()) {
    const AcceptedType accepted = take_accepted(accept);
    const bool is_known = accepted.version.empty() || accepted.version == "1.0.0";
    if (is_known && same_name(accepted.type, "application/openmetrics-text")) {
      openmetrics = std::max(openmetrics, accepted.weight);
    }
    if (same_name(accepted.type, "text/plain")) text = std::max(text, accepted.weight);
  }
  return openmetrics > 0 && openmetrics >= text;
}

bool takes_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const AcceptedType accepted = take_accepted(accept_encoding);
    if (same_name(accepted.type, "gzip")) return accepted.weight > 0;
  }
  return false;
}

std::string error_page(int status, std::string_view text) {
  const std::string_view reason = reason_phrase(status);
  std::string sentence = base::escape_page_text(text);
  if (!sentence.empty() && sentence.front() >= 'a' && sentence.front() <= 'z') {
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  }
  return web_page(fmt::format("{} {}", status, reason),
                  fmt::format("<h1><span class=\"code\">{}</span> {}</h1>\n<p>{}.</p>\n<p>{}</p>\n",
                              status, reason, sentence, advice(status)));
}

}  // namespace quarry::http
