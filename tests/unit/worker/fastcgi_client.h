// A FastCGI client that behaves like a web server.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/socket.h"
#include "quarry/http/fastcgi.h"

namespace worker_test {

using Params = std::vector<std::pair<std::string, std::string>>;

std::string encode_params(const Params& params);
/// Returns the bytes of a complete request.
std::string request(const Params& params, std::string_view body = {}, bool keep = false);
/// Returns the parameters of a POST request with BODY.
Params post(std::string_view path, std::string_view body,
            std::string_view content_type = "application/x-fossil");

class Client {
 public:
  explicit Client(const quarry::base::SocketAddress& address);

  void send(std::string_view bytes) const;
  void end_sending() const;
  /// Reads STDOUT records until END_REQUEST or the end of the connection, and returns their
  /// contents.
  std::string reply();
  /// Waits for input. Returns true if the server has closed the connection.
  bool is_closed();

 private:
  /// Reads more bytes into buffer_. Returns false at the end of the connection.
  bool fill();

  quarry::base::Fd fd_;
  std::string buffer_;
  quarry::http::RecordReader reader_;
};

}  // namespace worker_test
