#include "fastcgi_client.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "connect_to.h"
#include "eventually.h"
#include "fastcgi_records.h"

namespace worker_test {

using fastcgi_records::begin_record;
using fastcgi_records::stream;

std::string encode_params(const Params& params) {
  std::string out;
  for (const auto& [name, value] : params) {
    quarry::http::append_pair(out, name, value);
  }
  return out;
}

std::string request(const Params& params, std::string_view body, bool keep) {
  return begin_record(keep ? FCGI_KEEP_CONN : 0) + stream(FCGI_PARAMS, encode_params(params)) +
         stream(FCGI_STDIN, body);
}

Params post(std::string_view path, std::string_view body, std::string_view content_type) {
  return {{"REQUEST_METHOD", "POST"},
          {"PATH_INFO", std::string(path)},
          {"REQUEST_URI", std::string(path)},
          {"CONTENT_TYPE", std::string(content_type)},
          {"CONTENT_LENGTH", std::to_string(body.size())},
          {"REMOTE_ADDR", "192.0.2.1"}};
}

Client::Client(const quarry::base::SocketAddress& address) {
  auto connected = connect_to(address);
  REQUIRE(connected);
  fd_ = std::move(*connected);
}

void Client::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t size = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

void Client::end_sending() const {
  ::shutdown(fd_.get(), SHUT_WR);
}

bool Client::fill() {
  std::array<char, 65536> piece;
  pollfd wait{fd_.get(), POLLIN, 0};
  REQUIRE(::poll(&wait, 1, kPatience) == 1);
  const ssize_t got = ::read(fd_.get(), piece.data(), piece.size());
  if (got <= 0) return false;
  buffer_.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

std::string Client::reply() {
  std::string out;
  bool has_ended = false;
  do {
    std::string_view bytes = buffer_;
    while (!has_ended) {
      const auto part = reader_.next(bytes);
      if (!part) break;
      if (part->header.type == FCGI_STDOUT) out += part->content;
      has_ended = part->header.type == FCGI_END_REQUEST && part->is_last;
    }
    buffer_.erase(0, buffer_.size() - bytes.size());
  } while (!has_ended && fill());
  return out;
}

bool Client::is_closed() {
  return !fill();
}

}  // namespace worker_test
