// Sends POST requests over HTTP, for webhooks and logs. Connections are kept alive. Redirects are
// not followed.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quarry/base/socket.h"
#include "transfer.h"

namespace quarry::courier {

struct HttpReply {
  std::string error = {};  // why the server did not reply
  bool is_interrupted =
      false;                  // the delivery was aborted, so there is neither an error nor a reply
  long status = 0;            // 0: no reply
  std::string body = {};      // the beginning
  std::string redirect = {};  // URL of a redirect
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;

  bool is_done() const { return status >= 200 && status < 300; }
};

class HttpPost {
 public:
  /// Returns whether a connection to an address is allowed.
  using Allows = std::function<bool(const base::SocketAddress& address)>;

  /// Creates an object that keeps at most MAX_KEPT bytes of the body of a reply. For the other
  /// arguments, see Transfer.
  HttpPost(Interrupted is_interrupted, const std::string& ca_file, std::size_t max_kept);

  /// Connects only to addresses that ALLOWS returns true for.
  void restrict_to(Allows allows);
  HttpReply send(const std::string& url, std::span<const std::string> headers,
                 std::string_view body, std::chrono::milliseconds timeout);

 private:
  static std::size_t receive(char* bytes, std::size_t size, std::size_t count, void* self);
  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* to);
  HttpReply reply_after(CURLcode code);

  Transfer transfer_;
  std::size_t max_kept_;
  Allows allows_;
  std::size_t received_ = 0;  // number of bytes of the body
  std::string body_;
};

}  // namespace quarry::courier
