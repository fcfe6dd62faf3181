#include "web_request.h"

#include <fmt/core.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "quarry/base/blanks.h"
#include "quarry/base/number.h"
#include "quarry/base/transfer.h"
#include "quarry/http/parameters.h"
#include "quarry/http/reply_header.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"

namespace quarry::app {
namespace {

using http::Refusal;
namespace parameter = http::parameter;

constexpr std::size_t kMaxHead = std::size_t{64} << 10;

std::unexpected<Refusal> refuse(int status, std::string text) {
  return std::unexpected(Refusal{.status = status, .text = std::move(text)});
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Returns the address of the ssh client if ssh has started this process, otherwise the address of
/// the peer on FD.
std::string address_of(int fd) {
  const std::string ssh = variable("SSH_CONNECTION");
  if (!ssh.empty()) return ssh.substr(0, ssh.find(' '));
  sockaddr_storage peer{};
  auto* const address = reinterpret_cast<sockaddr*>(&peer);
  socklen_t size = sizeof peer;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_known =
      ::getpeername(fd, address, &size) == 0 && peer.ss_family != AF_UNIX &&
      ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  return is_known ? text.data() : "127.0.0.1";
}

std::string_view query_of(std::string_view target) {
  return target.substr(std::min(target.find('?'), target.size() - 1) + 1);
}

/// Parses HEAD, which refuse_head() has accepted. Stores Content-Length in LENGTH.
OrRefusal<WebRequest> parse(std::string_view head, std::string& length) {
  WebRequest request;
  const std::string_view first = http::take_line(head);
  const std::size_t space = first.find(' ');
  request.method = first.substr(0, space);
  std::string_view target = first.substr(space + 1, first.rfind(' ') - space - 1);
  request.uri = target;
  // Requests to proxies have an absolute URL. Use the path of the URL.
  if (!target.starts_with('/')) {
    const std::size_t scheme = target.find("://");
    const std::size_t path =
        scheme == std::string_view::npos ? scheme : target.find('/', scheme + 3);
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  const auto path = http::percent_decode(target.substr(0, target.find('?')));
  if (!path) return refuse(400, "the path is malformed");
  request.path = *path;
  request.target = target;
  request.query = query_of(target);
  while (!head.empty()) {
    const std::string_view line = http::take_line(head);
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = base::trim_blanks(line.substr(std::min(colon + 1, line.size())));
    if (http::same_name(name, "Host")) request.host = value;
    if (http::same_name(name, "Content-Type")) request.content_type = value;
    if (http::same_name(name, "Content-Length")) length = value;
    if (http::same_name(name, "Cookie")) request.cookie = value;
    if (http::same_name(name, "Accept")) request.accept = value;
    if (http::same_name(name, "X-Quarry-Date")) request.date = value;
    // Omit the status line over ssh, because fossil's client does not expect it.
    if (http::same_name(name, "X-Fossil-Transport")) request.has_http_head = value != "SSH";
  }
  return request;
}

}  // namespace

/// Reads more data. Returns false at the end of the input.
OrRefusal<bool> RequestReader::read_more() {
  if (patience_.count() > 0) {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    const auto wait = std::chrono::milliseconds(patience_).count();
    if (::poll(&ready, 1, static_cast<int>(wait)) == 0)
      return refuse(408, "timeout while reading the request");
  }
  std::array<char, 65536> buffer{};
  const ssize_t size =
      base::without_interruption([&] { return ::read(fd_, buffer.data(), buffer.size()); });
  if (size < 0) return refuse(400, "cannot read the request");
  received_.append(buffer.data(), static_cast<std::size_t>(size));
  return size > 0;
}

OrRefusal<std::string> RequestReader::read_body(std::string_view text) {
  const auto length = base::parse_number<std::uint64_t>(text);
  if (!length) return refuse(400, "Content-Length is missing or not a number");
  if (*length > max_body_) {
    return refuse(413, fmt::format("the request is larger than {} bytes", max_body_));
  }
  while (received_.size() < *length) {
    const auto more = read_more();
    if (!more) return std::unexpected(more.error());
    if (!*more) return refuse(400, "the body is shorter than its Content-Length");
  }
  std::string body = received_.substr(0, static_cast<std::size_t>(*length));
  received_.erase(0, body.size());
  return body;
}

OrRefusal<std::optional<WebRequest>> RequestReader::next() {
  // Some clients send an empty line after a body.
  const auto skip_empty_lines = [this] {
    received_.erase(0, http::size_of_empty_lines(received_));
  };
  skip_empty_lines();
  while (http::header_block_size(received_) == std::string::npos) {
    if (received_.size() > kMaxHead)
      return refuse(431, "the request line and headers are too long");
    const auto more = read_more();
    if (!more) return std::unexpected(more.error());
    skip_empty_lines();
    if (*more) continue;
    if (received_.empty()) return std::nullopt;
    return refuse(400, "the request ends before the end of its headers");
  }
  const std::string head = received_.substr(0, http::header_block_size(received_));
  received_.erase(0, head.size());
  if (auto refusal = http::refuse_head(head, max_body_)) {
    return std::unexpected(std::move(*refusal));
  }
  std::string length;
  auto request = parse(head, length);
  if (!request) return std::unexpected(std::move(request).error());
  request->remote_address = address_of(fd_);
  if (request->method != "POST") return *std::move(request);
  auto body = read_body(length);
  if (!body) return std::unexpected(std::move(body).error());
  request->body = std::move(*body);
  return *std::move(request);
}

OrRefusal<WebRequest> RequestReader::cgi() {
  WebRequest request;
  request.has_http_head = false;
  request.method = variable(parameter::kRequestMethod);
  request.path = variable(parameter::kPathInfo);
  request.uri = variable(parameter::kRequestUri);
  if (request.uri.empty()) request.uri = variable(parameter::kScriptName) + request.path;
  request.host = variable(parameter::kHost);
  request.content_type = variable(parameter::kContentType);
  request.cookie = variable(parameter::kCookie);
  request.target = request.uri;
  request.query = variable(parameter::kQueryString);
  request.accept = variable("HTTP_ACCEPT");
  request.date = variable("HTTP_X_QUARRY_DATE");
  request.remote_address = variable(parameter::kRemoteAddress);
  request.remote_user = variable(parameter::kRemoteUser);
  request.is_https = parameter::is_https(variable(parameter::kHttps));
  if (request.method != "POST") return request;
  auto body = read_body(variable(parameter::kContentLength));
  if (!body) return std::unexpected(std::move(body).error());
  request.body = std::move(*body);
  return request;
}

bool is_cgi() {
  return std::getenv(parameter::kGatewayInterface) != nullptr;
}

std::string web_reply(const WebRequest& request, int status, std::string_view type,
                      std::string_view body, std::string_view headers) {
  std::string text =
      fmt::format("{}{} {}\r\n", request.has_http_head ? "HTTP/1.0 " : "Status: ", status,
                  http::reason_phrase(status));
  if (request.has_http_head) text += "Connection: close\r\n";
  if (status == 405) text += fmt::format("Allow: {}\r\n", http::kAllowedMethods);
  text += headers;
  text += fmt::format("Cache-Control: no-cache\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
                      type, body.size());
  if (request.method != "HEAD") text += body;
  return text;
}

}  // namespace quarry::app
