#include "quarry/http/web_page.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::http;

TEST_CASE("browsers get pages, programs get text") {
  CHECK(prefers_html(
      "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"));
  CHECK(prefers_html("application/json;q=0.5, TEXT/HTML;level=1;q=0.7"));
  CHECK(prefers_html("text/html"));
  CHECK_FALSE(prefers_html(""));
  CHECK_FALSE(prefers_html("*/*"));
  CHECK_FALSE(prefers_html("text/*"));
  CHECK_FALSE(prefers_html("text/html;q=0"));
  CHECK_FALSE(prefers_html("text/html;q=nonsense"));
  CHECK_FALSE(prefers_html("text/plain, text/html;q=0.9"));
  CHECK_FALSE(prefers_html("text/html;q=0.5,application/json"));
  CHECK_FALSE(prefers_html("application/text/html,,;,q=,"));
}

TEST_CASE("a client gets OpenMetrics only in the version that it accepts") {
  CHECK(prefers_openmetrics("application/openmetrics-text"));
  CHECK(prefers_openmetrics("application/openmetrics-text; version=1.0.0; charset=utf-8"));
  // Prometheus's own header:
  CHECK(prefers_openmetrics(
      "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
      "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"));
  CHECK_FALSE(prefers_openmetrics(""));
  CHECK_FALSE(prefers_openmetrics("*/*"));
  CHECK_FALSE(prefers_openmetrics("application/openmetrics-text;version=0.0.1,text/plain;q=0.5"));
  CHECK_FALSE(prefers_openmetrics("application/openmetrics-text;version=1.0.0;q=0"));
  CHECK_FALSE(prefers_openmetrics("application/openmetrics-text;q=0.2,text/plain;q=0.3"));
}

TEST_CASE("a client may refuse gzip") {
  CHECK(takes_gzip("gzip"));
  CHECK(takes_gzip("deflate, GZIP;q=0.5, br"));
  CHECK_FALSE(takes_gzip(""));
  CHECK_FALSE(takes_gzip("gzip;q=0"));
  CHECK_FALSE(takes_gzip("gzip;Q=0"));
  CHECK_FALSE(takes_gzip("br, gzip; q=0.000"));
  CHECK_FALSE(takes_gzip("x-gzip-not, br"));
}

TEST_CASE("untrusted text in an error page is escaped") {
  const std::string page = error_page(404, "no <script>alert('x')</script> & \"y\"");
  CHECK_FALSE(page.contains("<script"));
  CHECK(page.contains("No &lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;."));
  CHECK(error_page(404, "no a\u202eb").contains(">No a[U+202E]b.</p>"));
  CHECK(web_page("a\u2066b", "").contains("<title>a[U+2066]b</title>"));
  CHECK(web_page("</title><b>", "").contains("<title>&lt;/title&gt;&lt;b&gt;</title>"));
}

TEST_CASE("each error page says what to do, and shows its code") {
  for (const int status : {400, 403, 404, 405, 408, 413, 415, 429, 431, 500, 502, 503, 504}) {
    CAPTURE(status);
    const std::string page = error_page(status, "it is so");
    CHECK(page.contains("<title>" + std::to_string(status) + " "));
    CHECK_FALSE(page.contains("Unknown"));
    const std::size_t reason = page.find("<p class=\"lead\">It is so.</p>\n<p>");
    REQUIRE(reason != std::string::npos);
    CHECK(page.find("</p>", reason + 40) > reason + 55);
  }
  CHECK(error_page(503, "x") != error_page(404, "x"));
}

TEST_CASE(
    "a 404 page shows the path, a link to the list and how to clone; a 400 page shows the link") {
  using Kind = PlaceKind;
  const auto page = [](Kind kind, std::string_view asked, int status = 404) {
    return error_page(status, "x", {.asked = asked, .base = "https://h/f<", .kind = kind});
  };
  const std::string of_index = page(Kind::kIndex, "/a<b>");
  CHECK(of_index.contains("<code>/a&lt;b&gt;</code>"));
  CHECK(of_index.contains("<a href=\"https://h/f&lt;/\">List of the repositories</a>"));
  CHECK(of_index.contains("fossil clone https://h/f&lt;/NAME<"));
  CHECK(page(Kind::kRepository, "/a").contains("fossil clone https://h/f&lt;/<"));
  const std::string of_folder = page(Kind::kFolder, "/a");
  CHECK(of_folder.contains("fossil clone"));
  CHECK_FALSE(of_folder.contains("h/f&lt;/\""));
  CHECK_FALSE(page(Kind::kIndex, "/a", 503).contains("fossil clone"));
  CHECK(page(Kind::kIndex, "/a", 503).contains("h/f&lt;/\""));
  CHECK(error_page(503, "x", {.kind = Kind::kRepository}).contains("<a href=\"/\">"));
  CHECK_FALSE(error_page(503, "x").contains("<nav"));
  const std::string malformed = page(Kind::kRepository, "/%zz", 400);
  CHECK(malformed.contains("<a href=\"https://h/f&lt;/\">Home page of the project</a>"));
  CHECK_FALSE(malformed.contains("fossil clone h"));
  CHECK(page(Kind::kIndex, std::string(5000, 'x')).size() < error_page(404, "x").size() + 1000);
}

TEST_CASE("the header of a page links to the pages above it") {
  const std::string page = web_page("t", "m", {{"/<", "<all>"}, {"queue", "Queue", true}});
  CHECK(page.contains("<li><a href=\"/&lt;\"><svg"));
  CHECK(page.contains("&lt;all&gt;</a></li><li class=\"end\"><a href=\"queue\">Queue</a>"));
  CHECK(web_page("t", "m").contains("Quarry</p></header>\n<main id=\"main\">"));
}

TEST_CASE("a page may not do anything, and a live page may only run its own script") {
  const std::string still = web_page_headers();
  CHECK(still.contains("Content-Security-Policy: default-src 'none'; style-src 'sha256-"));
  CHECK_FALSE(still.contains("script-src"));
  CHECK_FALSE(still.contains("unsafe"));
  // Expected value: printf 'let x' | openssl dgst -sha256 -binary | base64
  CHECK(web_page_headers("let x").contains(
      "script-src 'sha256-dXKOHtfmzrnYeAHYBCbUmBpIqmNFRVEF6ulA+ucuqt0='; connect-src 'self'\r\n"));
  CHECK(still.contains("form-action 'none'"));
  CHECK(web_page_headers({}, Forms::kToOwnServer).contains("form-action 'self'"));
  CHECK(web_page("t", "<p>m</p>\n", {}, "let x").contains("<script>let x</script>"));
  CHECK_FALSE(web_page("t", "<p>m</p>\n").contains("<script"));
}
