#include "fastcgi_client.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "eventually.h"

namespace worker_test {
namespace {

char low_byte(std::size_t number) {
  return static_cast<char>(number & 0xFFU);
}

void append_length(std::string& out, std::size_t length) {
  if (length >= 128) {
    out += static_cast<char>(0x80U | (length >> 24));
    out += low_byte(length >> 16);
    out += low_byte(length >> 8);
  }
  out += low_byte(length);
}

std::string stream(int type, std::string_view content) {
  std::string out;
  while (!content.empty()) {
    const std::size_t size = std::min<std::size_t>(content.size(), 65535);
    out += record(type, content.substr(0, size));
    content.remove_prefix(size);
  }
  return out + record(type, "");
}

}  // namespace

std::string record(int type, std::string_view content, int id) {
  const auto number = static_cast<std::size_t>(id);
  std::string out;
  out += '\1';
  out += static_cast<char>(type);
  out += low_byte(number >> 8);
  out += low_byte(number);
  out += low_byte(content.size() >> 8);
  out += low_byte(content.size());
  out += std::string(2, '\0');
  out += content;
  return out;
}

std::string encode_params(const Params& params) {
  std::string out;
  for (const auto& [name, value] : params) {
    append_length(out, name.size());
    append_length(out, value.size());
    out += name;
    out += value;
  }
  return out;
}

std::string request(const Params& params, std::string_view body, bool keep) {
  const std::string begin{'\0', '\1', static_cast<char>(keep ? 1 : 0), 0, 0, 0, 0, 0};
  return record(1, begin) + stream(4, encode_params(params)) + stream(5, body);
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
  auto connected = quarry::base::connect_to(address);
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

bool Client::fill(std::size_t size) {
  std::array<char, 65536> piece;
  while (buffer_.size() < size) {
    pollfd wait{fd_.get(), POLLIN, 0};
    REQUIRE(::poll(&wait, 1, kPatience) == 1);
    const ssize_t got = ::read(fd_.get(), piece.data(), piece.size());
    if (got <= 0) return false;
    buffer_.append(piece.data(), static_cast<std::size_t>(got));
  }
  return true;
}

std::string Client::reply() {
  std::string out;
  while (fill(8)) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(buffer_[i]); };
    const std::size_t length = std::size_t{byte(4)} << 8 | byte(5);
    const std::size_t size = 8 + length + byte(6);
    const int type = byte(1);
    if (!fill(size)) break;
    if (type == 6) out += buffer_.substr(8, length);
    buffer_.erase(0, size);
    if (type == 3) break;
  }
  return out;
}

bool Client::is_closed() {
  return !fill(buffer_.size() + 1);
}

}  // namespace worker_test
