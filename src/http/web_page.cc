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
#include "web_style.h"

namespace quarry::http {
namespace {

constexpr std::size_t kMaxAsked = 300;  // bytes of the requested path shown on an error page

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
  const std::size_t weight = std::min(piece.find("q="), piece.find("Q="));
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

/// Returns the content of a page's header: the mark, and LINKS.
std::string header_with(const std::vector<PageLink>& links) {
  const std::string name = fmt::format("{}Quarry", kMark);
  if (links.empty()) return fmt::format("<p>{}</p>", name);
  std::string items = links.front().is_aside ? fmt::format("<li><b>{}</b></li>", name) : "";
  for (const PageLink& link : links) {
    items += fmt::format("<li{}><a href=\"{}\">{}{}</a></li>",
                         link.is_aside ? " class=\"end\"" : "", base::escape_page_text(link.url),
                         items.empty() ? kMark : "", base::escape_page_text(link.text));
  }
  return fmt::format("<nav aria-label=\"Pages above\"><ol>{}</ol></nav>", items);
}

/// Returns a link to the page above PLACE, if any.
std::string link_above(const ErrorPlace& place) {
  if (place.kind == PlaceKind::kFolder) return {};
  return fmt::format(
      "<p><a href=\"{}/\">{}</a></p>\n", base::escape_page_text(place.base),
      place.kind == PlaceKind::kIndex ? "List of the repositories" : "Home page of the project");
}

std::string how_to_clone(const ErrorPlace& place) {
  if (place.base.empty()) return {};
  const std::string_view name = place.kind == PlaceKind::kRepository ? "" : "NAME";
  return fmt::format("<p>To clone {}:</p>\n<pre tabindex=\"0\">fossil clone {}/{}</pre>\n",
                     name.empty() ? "the project" : "a repository whose name you know",
                     base::escape_page_text(place.base), name);
}

}  // namespace

std::string web_page(std::string_view title, std::string_view main,
                     const std::vector<PageLink>& above, std::string_view script) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"icon\" href=\"{}\">\n<style>{}</style></head>\n"
      "<body>\n<a class=\"skip\" href=\"#main\">Skip to content</a>\n<header>{}</header>\n"
      "<main id=\"main\">\n{}</main>\n",
      base::escape_page_text(title), kIcon, kStyle, header_with(above), main);
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

PlaceKind place_kind(bool is_repository, bool has_index) {
  if (is_repository) return PlaceKind::kRepository;
  return has_index ? PlaceKind::kIndex : PlaceKind::kFolder;
}

std::string error_page(int status, std::string_view text, const ErrorPlace& place) {
  const std::string_view reason = reason_phrase(status);
  std::string sentence = base::escape_page_text(text);
  if (!sentence.empty() && sentence.front() >= 'a' && sentence.front() <= 'z') {
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  }
  std::string main =
      fmt::format("<h1><span class=\"code\">{}</span> {}</h1>\n<p class=\"lead\">{}.</p>\n", status,
                  reason, sentence);
  if (status == 404 && !place.asked.empty()) {
    main += fmt::format("<p>You asked for <code>{}</code></p>\n",
                        base::escape_page_text(base::printable(place.asked, kMaxAsked)));
  }
  main += fmt::format("<p>{}</p>\n", advice(status));
  if (status == 400 || status == 404) main += link_above(place);
  if (status == 404) main += how_to_clone(place);
  std::vector<PageLink> above;
  if (place.kind != PlaceKind::kFolder) {
    above.push_back({.url = place.base + "/",
                     .text = place.kind == PlaceKind::kIndex ? "Repositories" : "Project"});
  }
  return web_page(fmt::format("{} {}", status, reason), main, above);
}

std::string base_url(bool is_https, std::string_view host, std::string_view script_name,
                     std::string_view path_info) {
  // If the web server does not split the path, PATH_INFO is empty, and the folder is at the root.
  std::string_view place = path_info.empty() ? "" : script_name;
  while (place.ends_with('/')) place.remove_suffix(1);
  return fmt::format("{}://{}{}", is_https ? "https" : "http", base::printable(host),
                     base::printable(place));
}

}  // namespace quarry::http
