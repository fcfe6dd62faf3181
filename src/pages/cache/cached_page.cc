#include "cached_page.h"

#include <fmt/core.h>
#include <sys/random.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "cache_rule.h"
#include "quarry/base/hex.h"
#include "quarry/http/syntax.h"

namespace quarry::pages {
namespace {

constexpr std::string_view kPolicy = "Content-Security-Policy";
constexpr std::string_view kBeforeNonce = "'nonce-";
constexpr std::string_view kGzipHeader("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
// An empty final deflate block.
constexpr std::string_view kLastBlock("\x03\0", 2);
// Minimum length of the nonce in a cached page. A shorter nonce could also occur in the text by
// chance, and would then be replaced there.
constexpr std::size_t kMinNonce = 16;
constexpr std::size_t kStoredHeader = 5;
constexpr std::size_t kGzipTrailer = 8;
constexpr std::size_t kWorthCompressing = 500;

std::string_view field_of(const http::ReplyHeader& header, std::string_view name) {
  for (const auto& [known, value] : header.fields) {
    if (http::same_name(known, name)) return value;
  }
  return {};
}

std::string nonce_in(const http::ReplyHeader& header) {
  std::string_view policy = field_of(header, kPolicy);
  const std::size_t at = policy.find(kBeforeNonce);
  if (at == std::string_view::npos) return {};
  policy.remove_prefix(at + kBeforeNonce.size());
  const std::size_t end = policy.find('\'');
  return end == std::string_view::npos ? std::string() : std::string(policy.substr(0, end));
}

bool is_text(std::string_view type) {
  constexpr auto kTypes =
      std::to_array<std::string_view>({"text/", "application/json", "application/javascript",
                                       "application/xml", "application/rss+xml", "image/svg+xml"});
  return std::ranges::any_of(kTypes,
                             [&](std::string_view known) { return type.starts_with(known); });
}

/// Returns whether BODY depends on the client. On expensive pages, fossil shows visitors a captcha
/// or, since 2.27, a task for their browser ("proof"), which depends on address, user agent and
/// time. Fossil also puts a token ("csrf") into forms, and a project's own header can show address
/// and user agent.
bool is_personal_text(std::string_view body) {
  const auto signs = std::to_array<std::string_view>(
      {"captchaseed", "captcha-audio/", "class=\"captcha\"", "name=\"csrf\"", "name=\"proof\"",
       "fossil-client-ok", kSharedAddress, canonical(Agent::kRobot), canonical(Agent::kPhone),
       canonical(Agent::kBrowser)});
  return std::ranges::any_of(signs, [&](std::string_view sign) { return body.contains(sign); });
}

std::string new_nonce(std::size_t size) {
  std::string bytes(size / 2 + 1, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("cannot generate random numbers");
  }
  return base::to_hex({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()})
      .substr(0, size);
}

void append_little(std::string& out, std::uint32_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((number >> (8 * i)) & 0xFF);
}

/// Returns TEXT as deflate blocks, or "" on failure. The blocks end at a byte boundary, and none of
/// them is final.
std::string deflated(std::string_view text) {
  z_stream stream{};
  if (::deflateInit2(&stream, 6, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(::deflateBound(&stream, text.size()) + 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = ::deflate(&stream, Z_FULL_FLUSH);
  const bool is_done = code == Z_OK && stream.avail_in == 0 && stream.avail_out > 0;
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return is_done ? out : std::string();
}

std::uint32_t checksum_of(std::string_view text) {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

}  // namespace

bool CachedPage::is_personal(const http::ReplyHeader& header) {
  return !field_of(header, "Set-Cookie").empty();
}

bool CachedPage::is_cacheable(const http::ReplyHeader& header) {
  return header.status == 200 && header.content_length && !is_personal(header) &&
         field_of(header, "Content-Encoding").empty() && field_of(header, "Vary").empty() &&
         !field_of(header, "Cache-Control").contains("private") &&
         !field_of(header, "Cache-Control").contains("no-store");
}

std::shared_ptr<const CachedPage> CachedPage::make(http::ReplyHeader header,
                                                   std::string_view body) {
  if (!is_cacheable(header) || *header.content_length != body.size() || is_personal_text(body))
    return nullptr;
  std::shared_ptr<CachedPage> page(new CachedPage);
  page->nonce_ = nonce_in(header);
  if (!page->nonce_.empty() && page->nonce_.size() < kMinNonce) return nullptr;
  page->tag_ = field_of(header, "ETag");
  page->plain_size_ = body.size();
  page->header_ = std::move(header);
  page->split(body);
  if (body.size() >= kWorthCompressing && is_text(field_of(page->header_, "Content-Type"))) {
    page->deflate_pieces();
  }
  page->size_ = sizeof(CachedPage) + 1000;
  for (const Piece& piece : page->pieces_) {
    page->size_ += sizeof(Piece) + piece.plain.size() + piece.deflated.size();
  }
  return page;
}

void CachedPage::split(std::string_view body) {
  while (!nonce_.empty()) {
    const std::size_t at = body.find(nonce_);
    if (at == std::string_view::npos) break;
    pieces_.push_back({.plain = std::string(body.substr(0, at))});
    body.remove_prefix(at + nonce_.size());
  }
  pieces_.push_back({.plain = std::string(body)});
}

void CachedPage::deflate_pieces() {
  for (Piece& piece : pieces_) {
    piece.checksum = checksum_of(piece.plain);
    piece.deflated = deflated(piece.plain);
    if (piece.deflated.empty()) return;
  }
  has_gzip_ = gzip_size() < plain_size_;
}

std::size_t CachedPage::gzip_size() const {
  std::size_t size = kGzipHeader.size() + kLastBlock.size() + kGzipTrailer +
                     (pieces_.size() - 1) * (kStoredHeader + nonce_.size());
  for (const Piece& piece : pieces_) size += piece.deflated.size();
  return size;
}

std::string CachedPage::fields(const std::string& nonce) const {
  std::string lines;
  for (const auto& [name, value] : header_.fields) {
    if (http::same_name(name, "Date")) continue;
    std::string shown = value;
    for (std::size_t at = 0;
         !nonce.empty() && (at = shown.find(nonce_, at)) != std::string::npos;) {
      shown.replace(at, nonce_.size(), nonce);
    }
    lines += fmt::format("{}: {}\r\n", name, shown);
  }
  return lines;
}

CachedPage::Reply CachedPage::reply(const ReplyOptions& options) const {
  const std::string_view vary = has_gzip_ ? "Vary: Accept-Encoding\r\n" : "";
  if (!tag_.empty() && options.known_tag == tag_) {
    return {304, fmt::format("Status: 304 Not Modified\r\nETag: {}\r\n{}\r\n", tag_, vary), {}};
  }
  const std::string nonce = nonce_.empty() ? std::string() : new_nonce(nonce_.size());
  const bool is_gzip = options.takes_gzip && has_gzip_;
  const std::size_t size = is_gzip ? gzip_size() : plain_size_;
  Reply reply{header_.status,
              fmt::format("Status: {} {}\r\n{}{}{}Content-Length: {}\r\n\r\n", header_.status,
                          header_.reason, fields(nonce),
                          is_gzip ? "Content-Encoding: gzip\r\n" : "", vary, size),
              {}};
  if (!options.head_only) reply.body = is_gzip ? gzip_body(nonce) : plain_body(nonce);
  return reply;
}

std::vector<BodyPart> CachedPage::plain_body(const std::string& nonce) const {
  std::vector<BodyPart> body;
  for (const Piece& piece : pieces_) {
    if (&piece != &pieces_.front()) body.push_back({.own = nonce});
    if (!piece.plain.empty()) body.push_back({.shared = piece.plain});
  }
  return body;
}

std::vector<BodyPart> CachedPage::gzip_body(const std::string& nonce) const {
  std::string stored_nonce(1, '\0');  // block type: stored, not the last block
  append_little(stored_nonce, static_cast<std::uint16_t>(nonce.size()), 2);
  append_little(stored_nonce, static_cast<std::uint16_t>(~nonce.size()), 2);
  stored_nonce += nonce;
  std::uint32_t checksum = 0;
  const std::uint32_t of_nonce = checksum_of(nonce);
  const auto add = [&checksum](std::uint32_t more, std::size_t size) {
    checksum =
        static_cast<std::uint32_t>(::crc32_combine(checksum, more, static_cast<z_off_t>(size)));
  };
  std::vector<BodyPart> body = {{.own = std::string(kGzipHeader)}};
  for (const Piece& piece : pieces_) {
    if (&piece != &pieces_.front()) {
      body.push_back({.own = stored_nonce});
      add(of_nonce, nonce.size());
    }
    body.push_back({.shared = piece.deflated});
    add(piece.checksum, piece.plain.size());
  }
  std::string end(kLastBlock);
  append_little(end, checksum, 4);
  append_little(end, static_cast<std::uint32_t>(plain_size_), 4);
  body.push_back({.own = std::move(end)});
  return body;
}

}  // namespace quarry::pages
