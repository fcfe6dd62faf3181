// A cached page. All readers share its bytes. Each reply contains a new nonce
// (Content-Security-Policy). The reply is compressed with gzip if the client accepts gzip.
//
//   body   piece │ nonce │ piece │ nonce │ piece
//   gzip   header │ deflated piece │ nonce, stored │ deflated piece │ … │ checksum │ size
//
// Each piece is deflated only once, separately and up to a byte boundary, so that a new nonce can
// be inserted without compressing again. The checksum is computed from the checksums of the pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/http/reply_header.h"

namespace quarry::pages {

/// A part of a reply's body: either SHARED bytes of the page, or the reply's OWN bytes. Not empty.
struct BodyPart {
  std::string_view shared = {};
  std::string own = {};

  std::string_view bytes() const { return shared.empty() ? own : shared; }
};

class CachedPage {
 public:
  /// Returns the page of a reply, or null if the page cannot be shared. A page can be shared if the
  /// status is 200, the length is declared, and the page does not depend on the client.
  static std::shared_ptr<const CachedPage> make(http::ReplyHeader header, std::string_view body);
  /// Returns false if HEADER alone shows that the reply cannot be shared.
  static bool is_cacheable(const http::ReplyHeader& header);
  /// Returns whether HEADER is specific to one client, that is, whether it sets a cookie. For
  /// example, a cookie proves that the client is not a robot.
  static bool is_personal(const http::ReplyHeader& header);

  struct ReplyOptions {
    bool takes_gzip = false;
    bool head_only = false;
    std::string_view known_tag{};  // If-None-Match
  };
  struct Reply {
    int status;
    std::string head;  // the header block
    std::vector<BodyPart> body;
  };
  /// Returns the reply for a client. The reply's body refers to this page.
  Reply reply(const ReplyOptions& options) const;

  /// Returns the approximate memory use in bytes.
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
  std::vector<BodyPart> plain_body(const std::string& nonce) const;
  std::vector<BodyPart> gzip_body(const std::string& nonce) const;
  std::size_t gzip_size() const;

  http::ReplyHeader header_;
  std::string tag_;
  std::string nonce_;  // the nonce in fossil's reply, or ""
  std::vector<Piece> pieces_;
  std::size_t plain_size_ = 0;
  bool has_gzip_ = false;
  std::size_t size_ = 0;
};

}  // namespace quarry::pages
