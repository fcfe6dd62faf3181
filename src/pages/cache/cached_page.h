// A cached page. Each client gets its own nonce (Content-Security-Policy), and gzip if it accepts
// that.
//
//   body   piece │ nonce │ piece │ nonce │ piece
//   gzip   header │ deflated piece │ nonce, stored │ deflated piece │ … │ checksum │ size
//
// Each piece is deflated once, separately and up to a byte boundary, so that inserting a new nonce
// needs no recompression; the checksum is combined from those of the pieces.
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
  /// The page of a reply if it can be shared: status 200, of declared length, with nothing specific
  /// to one client. Null otherwise.
  static std::shared_ptr<const CachedPage> make(http::ReplyHeader header, std::string_view body);
  /// Whether a reply with HEADER can be shared, judging by the header alone.
  static bool is_cacheable(const http::ReplyHeader& header);

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
  /// The reply to one client.
  Reply reply(const ReplyOptions& options) const;

  /// Approximate memory use in bytes.
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
  std::string nonce_;  // the nonce in fossil's reply; "": none
  std::vector<Piece> pieces_;
  std::size_t plain_size_ = 0;
  bool has_gzip_ = false;
  std::size_t size_ = 0;
};

}  // namespace quarry::pages
