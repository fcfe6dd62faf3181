#include "world.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "eventually.h"
#include "fastcgi_records.h"
#include "quarry/base/log.h"
#include "quarry/base/socket.h"

namespace quarry::gateway::testing {

using fastcgi_records::end_record;
using fastcgi_records::record;

namespace {

template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

base::Fd free_listener() {
  return value_of(base::listen_on(value_of(base::SocketAddress::parse("127.0.0.1:0"))));
}

std::map<std::string, std::string> decode_params(std::string_view bytes) {
  std::map<std::string, std::string> params;
  while (const auto pair = http::take_pair(bytes)) {
    const auto [at, added] = params.emplace(pair->name, pair->value);
    if (!added) throw std::runtime_error("twice: " + at->first);
  }
  if (!bytes.empty()) throw std::runtime_error("malformed parameters");
  return params;
}

}  // namespace

std::string fastcgi_answer(std::string_view output, std::string_view error_output) {
  std::string bytes;
  if (!error_output.empty()) bytes += record(FCGI_STDERR, error_output);
  while (!output.empty()) {
    const std::string_view piece = output.substr(0, 60000);
    bytes += record(FCGI_STDOUT, piece, 3);
    output.remove_prefix(piece.size());
  }
  return bytes + record(FCGI_STDOUT, "") + end_record();
}

std::string free_address() {
  const base::Fd probe = free_listener();
  return value_of(base::local_address(probe)).str();
}

std::string get(std::string_view target, std::string_view fields) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: h\r\n{}\r\n", target, fields);
}

std::string post(std::string_view body, std::string_view fields) {
  return fmt::format("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n{}\r\n{}", body.size(),
                     fields, body);
}

std::string body_of(std::string_view reply) {
  const std::size_t end = reply.find("\r\n\r\n");
  return end == std::string_view::npos ? "(none)" : std::string(reply.substr(end + 4));
}

base::AddressSet set_of(const std::vector<std::string>& entries) {
  return value_of(base::AddressSet::parse(entries));
}

Pool::Pool(const std::string& address, Serve serve, int backlog) {
  socket_ = value_of(
      base::listen_on(value_of(base::SocketAddress::parse(address)), {.backlog = backlog}));
  stop_ = value_of(base::make_pipe());
  thread_ = std::thread([this, serve = std::move(serve)] {
    while (true) {
      std::array<pollfd, 2> wait = {{{socket_.get(), POLLIN, 0}, {stop_.reading.get(), POLLIN, 0}}};
      ::poll(wait.data(), wait.size(), -1);
      if (wait[1].revents != 0) return;
      const base::Fd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection) continue;
      // Removes the receive timeout that the connection has inherited from its listening socket.
      const timeval none{};
      ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
      serve(connection.get());
    }
  });
}

Pool::~Pool() {
  stop_.writing.reset();
  thread_.join();
}

PoolRequest Pool::read_request(int connection) {
  PoolRequest request;
  std::string params;
  http::RecordReader reader;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::read(connection, buffer.data(), buffer.size());
    if (count <= 0) return {};
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    while (const auto part = reader.next(bytes)) {
      if (part->header.type == FCGI_PARAMS) params += part->content;
      if (part->header.type != FCGI_STDIN) continue;
      request.body += part->content;
      if (part->header.content_length > 0) continue;
      request.params = decode_params(params);
      return request;
    }
  }
}

Pool::Serve Pool::answering(std::string bytes) {
  return [bytes = std::move(bytes)](int connection) {
    if (!read_request(connection).params.empty()) write(connection, bytes);
  };
}

void Pool::write(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void serve_echo(int connection) {
  const PoolRequest request = Pool::read_request(connection);
  if (request.params.empty()) return;
  std::string body = request.body;
  if (body.empty()) {
    for (const auto& [name, value] : request.params) body += name + "=" + value + "\n";
  }
  Pool::write(connection, fastcgi_answer("Content-Type: text/x-echo\r\nContent-Length: " +
                                         std::to_string(body.size()) + "\r\n\r\n" + body));
}

Gateway::Gateway(const std::string& pool, GatewayOptions options) {
  const base::Fd listener = free_listener();
  port_ = value_of(base::local_address(listener)).port();
  options.pool = value_of(base::SocketAddress::parse(pool));
  options.listeners = {{.descriptor = listener.get(),
                        .port = static_cast<std::uint16_t>(port_),
                        .is_tls = !options.certificates.empty()}};
  const base::Fd log(
      ::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  std::cout.flush();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    base::set_log_descriptor(log.get());
    // Unlike _exit(), exit() lets AddressSanitizer report leaks.
    std::exit(run(options, [] {}));
  }
}

Gateway::~Gateway() {
  if (pid_ < 0) return;
  signal(SIGTERM);
  CHECK(wait() == 0);
}

void Gateway::signal(int number) const {
  ::kill(pid_, number);
}

void Gateway::limit_descriptors(std::size_t count) const {
  rlimit limit{};
  ::prlimit(pid_, RLIMIT_NOFILE, nullptr, &limit);
  limit.rlim_cur = count;
  CHECK(::prlimit(pid_, RLIMIT_NOFILE, &limit, nullptr) == 0);
}

int Gateway::wait() {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string Gateway::log() const {
  std::ifstream in(folder_ / "log");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Client::Client(const Gateway& gateway, const std::string& address)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const auto own = value_of(base::SocketAddress::parse_ip(address));
  const auto theirs =
      value_of(base::SocketAddress::parse("127.0.0.1:" + std::to_string(gateway.port())));
  if (::bind(socket_.get(), own.get(), own.size()) != 0 ||
      ::connect(socket_.get(), theirs.get(), theirs.size()) != 0) {
    throw std::runtime_error("cannot connect");
  }
}

void Client::send(std::string_view bytes) const {
  Pool::write(socket_.get(), bytes);
}

bool Client::is_served() {
  send(kGet);
  return reply().starts_with(kOk);
}

bool Client::more() {
  pollfd wait = {socket_.get(), POLLIN, 0};
  if (::poll(&wait, 1, kPatience) <= 0) {
    timed_out_ = true;
    return false;
  }
  std::array<char, 65536> bytes{};
  const ssize_t count = ::read(socket_.get(), bytes.data(), bytes.size());
  if (count <= 0) return false;
  buffered_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

std::string Client::reply(bool bodiless) {
  std::size_t end = 0;
  while ((end = buffered_.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return std::exchange(buffered_, {});
  }
  std::size_t size = end + 4;
  const std::size_t length = buffered_.find("Content-Length: ");
  if (!bodiless && length < end) size += std::stoul(buffered_.substr(length + 16));
  while (buffered_.size() < size) {
    if (!more()) return std::exchange(buffered_, {});
  }
  std::string reply = buffered_.substr(0, size);
  buffered_.erase(0, size);
  return reply;
}

std::string Client::take(std::size_t size) {
  while (buffered_.size() < size && more()) continue;
  std::string taken = buffered_.substr(0, size);
  buffered_.erase(0, taken.size());
  return taken;
}

std::string Client::rest() {
  while (more()) continue;
  return std::exchange(buffered_, {}) + (timed_out_ ? "TIMEOUT" : "");
}

std::string ask(const Gateway& gateway, std::string_view bytes) {
  Client client(gateway);
  client.send(bytes);
  return client.reply();
}

bool wait_for_log(const Gateway& gateway, std::string_view line) {
  return eventually([&] { return gateway.log().contains(line); });
}

}  // namespace quarry::gateway::testing
