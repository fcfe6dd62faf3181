// Receives lines on a stream socket, queues the lines, and sends them to another stream socket, as
// rsyslog does.
//
//   spool_relay --listen ADDRESS --to ADDRESS [--filename NAME --spooldirectory FOLDER]
//               [--size N] [--syncqueuefiles on] ...
//
// Every parameter of the queue is an option, whose name is the parameter's name without "queue.".
// With --filename, the queue is disk-assisted. SIGTERM stops the program.
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../unit/connect_to.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/spool/queue.h"
#include "spool_main.h"

namespace {

namespace base = quarry::base;
namespace spool = quarry::spool;

volatile std::sig_atomic_t asked_to_end = 0;

// rsyslog's imptcp reads the same number of bytes at once.
constexpr std::size_t kRead = std::size_t{128} << 10;
constexpr int kLookUp = 50;  // milliseconds between two checks for SIGTERM
constexpr std::chrono::seconds kNextTry{1};

/// The consumer of one worker. It writes each batch to a socket.
class Forwarder {
 public:
  explicit Forwarder(const base::SocketAddress& to) : to_(to) {}

  spool::Delivery take(std::span<const spool::Message> batch, const std::stop_token& stop) {
    if (!socket_) {
      auto connected = connect_to(to_);
      if (!connected) return {.delivered = 0, .retry_after = kNextTry};
      socket_ = std::move(*connected);
    }
    text_.clear();
    for (const spool::Message& message : batch) {
      text_ += message.content;
      text_ += '\n';
    }
    return settle(batch, send(stop));
  }

 private:
  /// Sends text_. Returns the number of sent bytes. A part of text_ is not sent if the queue stops
  /// or the connection ends.
  std::size_t send(const std::stop_token& stop) {
    std::size_t done = 0;
    while (done < text_.size()) {
      const ssize_t sent = ::send(socket_.get(), text_.data() + done, text_.size() - done,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0) {
        done += static_cast<std::size_t>(sent);
      } else if (errno == EAGAIN) {
        pollfd wait = {socket_.get(), POLLOUT, 0};
        ::poll(&wait, 1, kLookUp);
        if (stop.stop_requested()) break;
      } else if (errno != EINTR) {
        break;
      }
    }
    return done;
  }

  spool::Delivery settle(std::span<const spool::Message> batch, std::size_t sent) {
    if (sent == text_.size()) return {.delivered = batch.size()};
    // A partly sent message is sent again over the next connection.
    socket_.reset();
    std::size_t delivered = 0;
    for (const spool::Message& message : batch) {
      if (sent <= message.content.size()) break;
      sent -= message.content.size() + 1;
      ++delivered;
    }
    return {.delivered = delivered, .retry_after = kNextTry};
  }

  base::SocketAddress to_;
  base::Fd socket_;
  std::string text_;
};

class Source {
 public:
  explicit Source(base::Fd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }

  /// Reads once, and adds complete lines to MESSAGES. Returns false at the end of the connection.
  bool read(std::vector<spool::Message>& messages) {
    if (kept_ == buffer_.size()) throw std::length_error("a line is too long");
    const ssize_t got =
        ::recv(socket_.get(), buffer_.data() + kept_, buffer_.size() - kept_, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    std::string_view text(buffer_.data(), kept_ + static_cast<std::size_t>(got));
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      messages.push_back({.content = std::string(text.substr(0, end))});
      text.remove_prefix(end + 1);
    }
    kept_ = text.size();
    std::memmove(buffer_.data(), text.data(), kept_);
    return true;
  }

 private:
  base::Fd socket_;
  std::vector<char> buffer_ = std::vector<char>(kRead);
  std::size_t kept_ = 0;  // bytes of an incomplete line
};

/// Reads lines from all connections and enqueues them until SIGTERM arrives.
class Input {
 public:
  Input(base::Fd listener, spool::Queue& queue) : listener_(std::move(listener)), queue_(queue) {}

  void run() {
    while (asked_to_end == 0) wait_and_read();
  }

 private:
  void wait_and_read() {
    std::vector<pollfd> waits = {{listener_.get(), POLLIN, 0}};
    for (const Source& source : sources_) waits.push_back({source.fd(), POLLIN, 0});
    if (::poll(waits.data(), waits.size(), kLookUp) <= 0) return;
    for (std::size_t i = waits.size() - 1; i > 0; --i) {
      if (waits[i].revents == 0) continue;
      // spool_load takes the end of the connection as the confirmation that all of its messages are
      // in the queue. The connection is therefore closed only after the messages are enqueued.
      const bool goes_on = sources_[i - 1].read(messages_);
      enqueue();
      if (!goes_on) sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    }
    if (waits[0].revents == 0) return;
    base::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) sources_.emplace_back(std::move(socket));
  }

  void enqueue() {
    base::Error error;
    const std::size_t taken = queue_.enqueue(messages_, spool::Delay::kNone, &error);
    if (taken < messages_.size()) fmt::print(stderr, "spool_relay: {}\n", error.message);
    messages_.clear();
  }

  base::Fd listener_;
  spool::Queue& queue_;
  std::vector<Source> sources_;
  std::vector<spool::Message> messages_;
};

base::Result<void> relay(const std::string& listen, const std::string& to,
                         const spool::QueueOptions& options) {
  QUARRY_TRY_ASSIGN(const auto listen_address, base::SocketAddress::parse(listen));
  QUARRY_TRY_ASSIGN(const auto to_address, base::SocketAddress::parse(to));
  QUARRY_TRY_ASSIGN(auto listener, base::listen_on(listen_address));
  Forwarder forwarder(to_address);
  QUARRY_TRY_ASSIGN(
      const auto queue,
      spool::Queue::start(
          options,
          [&](std::span<const spool::Message> batch, const std::stop_token& stop) {
            return forwarder.take(batch, stop);
          },
          [](const std::string& line) { fmt::print(stderr, "spool_relay: {}\n", line); }));
  Input input(std::move(listener), *queue);
  input.run();
  queue->shutdown();
  return {};
}

int run(int argc, char** argv) {
  std::string listen;
  std::string to;
  spool::QueueOptions options;
  CLI::App program("Relays lines from one stream socket to another through a queue.");
  program.add_option("--listen", listen, "address to listen on")->required();
  program.add_option("--to", to, "address to send to")->required();
  program.add_option("--spooldirectory", options.spool_directory, "folder of the queue's files");
  program.add_option("--filename", options.filename, "prefix of their names");
  for (const spool::Parameter& parameter : spool::parameters()) {
    const std::string name(parameter.name);
    program.add_option_function<std::string>(
        "--" + name,
        [&options, name](const std::string& text) {
          const auto set = spool::set_parameter(options, name, text);
          if (!set) throw CLI::ValidationError(set.error().message);
        },
        std::string(parameter.description));
  }
  CLI11_PARSE(program, argc, argv);
  std::signal(SIGTERM, [](int) { asked_to_end = 1; });
  const auto done = relay(listen, to, options);
  return quarry::status_of("spool_relay", done);
}

}  // namespace

int main(int argc, char** argv) {
  return quarry::run_main("spool_relay", argc, argv, run);
}
