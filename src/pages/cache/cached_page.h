// A page that is kept, and given to many: each with a nonce of its own (Content-Security-Policy),
// and compressed for who takes that.
//
//   body   piece │ nonce │ piece │ nonce │ piece
//   gzip   header │ deflated piece │ nonce, stored │ deflated piece │ … │ checksum │ size
//
// Each piece is deflated once, on its own and to a byte's end, so that a new nonce between them costs
// nothing but its own bytes; the checksum is put together from theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/http/reply_header.h"

namespace quarry::pages {

class CachedPage {
 public:
  /// The page of a reply, where it may be given to others: 200, of a known length, nothing in it of
  /// one visitor's. Nothing otherwise.
  static std::shared_ptr<const CachedPage> make(http::ReplyHeader header, std::string_view body);
  /// Whether one with HEADER may be, as far as that tells.
  static bool may_be(const http::ReplyHeader& header);

  struct ReplyOptions {
    bool takes_gzip = false;
    bool head_only = false;
    std::string_view known_tag{};  // If-None-Match
  };
  struct Reply {
    int status;
    std::string head;  // the header block
    std::string body;
  };
  /// What a visitor is sent.
  Reply reply(const ReplyOptions& options) const;

  /// Bytes that it takes, about.
  std::size_t size() const { return size_; }

 private:
  CachedPage() = default;
  struct Piece {
    std::string plain;
    std::string deflated = {};
    std::uint32_t checksum = 0;
  };
  void split(std::string_view body);
  void deflate_pieces();
  std::string fields(const std::string& nonce) const;
  void append_plain(std::string& out, const std::string& nonce) const;
  void append_gzip(std::string& out, const std::string& nonce) const;
  std::size_t gzip_size() const;

  http::ReplyHeader header_;
  std::string tag_;
  std::string nonce_;  // fossil's own; "": none
  std::vector<Piece> pieces_;
  std::size_t plain_size_ = 0;
  bool has_gzip_ = false;
  std::size_t size_ = 0;
};

}  // namespace quarry::pages
