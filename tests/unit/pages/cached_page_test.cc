#include "cache/cached_page.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <random>
#include <set>
#include <string>
#include <vector>

using namespace quarry::pages;
using quarry::http::ReplyHeader;

namespace {

const std::string kNonce = "0123456789abcdef0123456789abcdef0123456789abcdef";

ReplyHeader header_of(std::string_view body, const std::string& type = "text/html") {
  return {.status = 200,
          .reason = "OK",
          .fields = {{"Date", "today"},
                     {"ETag", "tag"},
                     {"Content-Security-Policy",
                      "script-src 'self' 'nonce-" + kNonce + "'; style-src 'nonce-" + kNonce + "'"},
                     {"Content-Type", type}},
          .content_length = body.size()};
}

std::string nonce_of(const std::string& head) {
  return head.substr(head.find("'nonce-") + 7, kNonce.size());
}

std::string inflated(const std::string& gzip, std::size_t size) {
  z_stream stream{};
  REQUIRE(::inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string out(size + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  // inflate() also verifies the checksum.
  REQUIRE(::inflate(&stream, Z_FINISH) == Z_STREAM_END);
  REQUIRE(stream.avail_in == 0);
  out.resize(stream.total_out);
  ::inflateEnd(&stream);
  return out;
}

std::string text_of(const std::vector<BodyPart>& body) {
  std::string text;
  for (const BodyPart& part : body) {
    CHECK_FALSE(part.bytes().empty());
    text += part.bytes();
  }
  return text;
}

std::string with_nonce(std::string text, const std::string& nonce) {
  for (std::size_t at = 0; (at = text.find(kNonce, at)) != std::string::npos;) {
    text.replace(at, kNonce.size(), nonce);
  }
  return text;
}

}  // namespace

TEST_CASE("each delivery has its own nonce in header and body, compressed or not") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    std::string body;
    for (unsigned part = 0; part < random() % 6; ++part) {
      body += std::string(random() % 3000, static_cast<char>('a' + random() % 26));
      if (random() % 2 == 0) body += kNonce;
    }
    const auto page = CachedPage::make(header_of(body), body);
    REQUIRE(page);
    std::set<std::string> nonces;
    for (const bool takes_gzip : {false, true}) {
      const auto parts = page->reply({.takes_gzip = takes_gzip});
      const std::string nonce = nonce_of(parts.head);
      nonces.insert(nonce);
      CHECK_FALSE(parts.head.contains(kNonce));
      CHECK_FALSE(parts.head.contains("Date:"));
      CHECK(parts.head.contains("style-src 'nonce-" + nonce));
      const std::string sent = text_of(parts.body);
      CHECK(parts.head.contains("Content-Length: " + std::to_string(sent.size()) + "\r\n"));
      const bool is_gzip = parts.head.contains("Content-Encoding: gzip");
      CHECK((is_gzip ? inflated(sent, body.size()) : sent) == with_nonce(body, nonce));
      if (is_gzip) CHECK(takes_gzip);
    }
    CHECK(nonces.size() == 2);
  }
}

TEST_CASE("a page that the client already has is not sent again, and has no nonce") {
  const std::string body(1000, 'x');
  const auto page = CachedPage::make(header_of(body), body);
  REQUIRE(page);
  const auto same = page->reply({.known_tag = "tag"});
  CHECK(same.head.starts_with("Status: 304 "));
  CHECK_FALSE(same.head.contains("nonce"));
  CHECK(same.body.empty());
  CHECK(page->reply({.known_tag = "other"}).status == 200);
  const auto head = page->reply({.head_only = true});
  CHECK(head.body.empty());
  CHECK(head.head.contains("Content-Length: 1000"));
}

TEST_CASE("replies share the bytes of their page") {
  const std::string body = std::string(10'000, 'x') + kNonce + std::string(10'000, 'y');
  const auto page = CachedPage::make(header_of(body), body);
  REQUIRE(page);
  const auto first = page->reply({}).body;
  const auto second = page->reply({}).body;
  REQUIRE(first.size() == 3);
  CHECK(first[0].shared.data() == second[0].shared.data());
  CHECK(first[2].shared.data() == second[2].shared.data());
  CHECK(first[1].own != second[1].own);
}

TEST_CASE("large content other than text is not compressed") {
  const std::string body(100'000, 'x');
  const auto page = CachedPage::make(header_of(body, "application/octet-stream"), body);
  REQUIRE(page);
  CHECK_FALSE(page->reply({.takes_gzip = true}).head.contains("gzip"));
}

TEST_CASE("a page for a single visitor is not shared") {
  const std::string body = "body";
  const auto is_kept = [&](auto change) {
    ReplyHeader header = header_of(body);
    change(header);
    return CachedPage::make(std::move(header), body) != nullptr;
  };
  CHECK(is_kept([](ReplyHeader&) {}));
  CHECK_FALSE(is_kept([](ReplyHeader& header) { header.status = 404; }));
  for (const char* text : {"<input name=\"captchaseed\">", "<input name=\"csrf\" value=\"x\">",
                           "<input id=\"x4\" type=\"hidden\" name=\"proof\" value=\"0\">",
                           "your address is 192.0.2.47", "for quarry-shared-robot"}) {
    CHECK_FALSE(CachedPage::make(header_of(text), text));
  }
  CHECK_FALSE(is_kept([](ReplyHeader& header) { header.content_length.reset(); }));
  CHECK_FALSE(is_kept([](ReplyHeader& header) { header.content_length = 5; }));
  for (const auto& field : {std::pair{"Set-Cookie", "a=b"}, std::pair{"Content-Encoding", "br"},
                            std::pair{"Vary", "Cookie"}, std::pair{"Cache-Control", "private"},
                            std::pair{"cache-control", "no-store"},
                            std::pair{"Content-Security-Policy", "script-src 'nonce-12'"}}) {
    CAPTURE(field.first);
    CHECK_FALSE(is_kept([&](ReplyHeader& header) {
      if (header.fields[2].first == field.first) header.fields.erase(header.fields.begin() + 2);
      header.fields.emplace_back(field);
    }));
  }
}
