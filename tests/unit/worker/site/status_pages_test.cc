#include "site/status_pages.h"

#include <doctest/doctest.h>

using namespace quarry::worker;

namespace {

class Pages {
 public:
  explicit Pages(StatusOptions options)
      : options_(std::move(options)),
        board_(*quarry::scoreboard::Board::create("pool www", 2)),
        slot_(board_.slot(1)),
        pages_(options_, board_, {}) {}
  std::optional<Reply> ask(std::string_view path, std::string_view query = {},
                           std::string_view method = "GET") {
    return pages_.answer({.method = method, .path_info = path, .query = query}, slot_);
  }
  std::optional<Reply> ask_script(std::string_view script) {
    return pages_.answer({.method = "GET", .script_name = script}, slot_);
  }

 private:
  StatusOptions options_;
  quarry::scoreboard::Board board_;
  quarry::scoreboard::Slot slot_;
  StatusPages pages_;
};

}  // namespace

TEST_CASE("without a configured path there is no page") {
  Pages pages({});
  for (const char* path : {"", "/", "/status", "/ping", "/name/status", "/name/ping"}) {
    CHECK_FALSE(pages.ask(path));
  }
}

TEST_CASE("only the complete path leads to a page, as SCRIPT_NAME or PATH_INFO") {
  Pages pages({.pool = "www", .status_path = "/st-1", .ping_path = "/alive"});
  CHECK(pages.ask("/st-1"));
  CHECK(pages.ask_script("/st-1"));
  CHECK(pages.ask("/alive", "", "HEAD"));
  for (const char* path : {"/st-1/", "/name/st-1", "/st-", "/st-12", "/alive/x", "/name/alive"}) {
    CHECK_FALSE(pages.ask(path));
  }
  CHECK_FALSE(pages.ask("/st-1", "", "POST"));
}

TEST_CASE("the pages have PHP-FPM's content types and must not be cached") {
  Pages pages({"www", "/status", "/ping", "hello <&>"});
  const auto type = [&](std::string_view query) {
    return pages.ask("/status", query)->content_type;
  };
  CHECK(type("") == "text/plain;charset=UTF-8");
  CHECK(type("full&json") == "application/json");
  CHECK(type("xml") == "text/xml;charset=UTF-8");
  CHECK(type("html") == "text/html;charset=UTF-8");
  CHECK(type("openmetrics") == "text/plain; version=0.0.4; charset=utf-8");
  const auto ping = pages.ask("/ping");
  CHECK(ping->body == "hello <&>");
  CHECK(ping->content_type == "text/plain;charset=UTF-8");
  CHECK(
      ping->headers.contains("Cache-Control: no-cache, no-store, must-revalidate, max-age=0\r\n"));
  CHECK(pages.ask("/status")->body.starts_with("pool:                 www\n"));
}

TEST_CASE("the live page and its document are under the status path") {
  Pages pages({"www", "/status", "", "", nullptr});
  const auto page = pages.ask("/status", "live");
  REQUIRE(page);
  CHECK(page->content_type == "text/html; charset=utf-8");
  CHECK(page->headers.contains("script-src 'sha256-"));
  CHECK(page->body.contains("<script>"));
  const auto document = pages.ask("/status", "live&json");
  REQUIRE(document);
  CHECK(document->content_type == "application/json");
  CHECK(document->body.starts_with("{\"version\":"));
  CHECK(document->headers.contains("no-store"));
  CHECK_FALSE(pages.ask("/status", "html")->body.contains("script"));
  CHECK_FALSE(pages.ask("/", "live"));
}
