// Sends and receives the messages for the comparison of the queue with rsyslog. Uses little
// processor time. Messages are generated before the clock starts, sent in batches, and checked in
// the receive buffer.
//
//   spool_load send SOCKET --count N       prints {"began", "taken"}
//   spool_load receive ADDRESS --count N   prints {"messages", "distinct", ..., "last"} when all
//                                          messages have arrived, or after SIGTERM
//
// A message is a minimal line of RFC 5424. All messages have the same length. Each message contains
// its number and bytes derived from the number:
//
//   <134>1 - - - - - - 0000012345 xyzabcdefgh...
//
// Times are seconds of the machine's monotonic clock, which Python's time.monotonic() also reads.
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../unit/connect_to.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "spool_main.h"

namespace {

namespace base = quarry::base;

constexpr std::string_view kHeader = "<134>1 - - - - - - ";
constexpr std::size_t kDigits = 10;
constexpr std::size_t kPrefix = kHeader.size() + kDigits + 1;
constexpr std::size_t kLength = 127;  // of a message, without the newline
constexpr std::size_t kPeriod = 61;   // number of different fillings
constexpr double kPatience = 120;     // timeout in seconds
constexpr double kMaxIdle = 5;        // seconds without a message

volatile std::sig_atomic_t asked_to_end = 0;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Shape {
 public:
  Shape() {
    for (std::size_t i = 0; i < kLength + kPeriod; ++i)
      filling_ += static_cast<char>('a' + (i * i / 7 + i) % 26);
  }

  void append(std::string& text, std::uint64_t number) const {
    text += kHeader;
    text += fmt::format("{:0{}}", number, kDigits);
    text += ' ';
    text += filling(number);
    text += '\n';
  }

  /// Returns the number of LINE, which must not contain the newline. Returns nullopt if any byte
  /// differs from the sent message.
  std::optional<std::uint64_t> number_of(std::string_view line) const {
    if (line.size() != kLength || !line.starts_with(kHeader)) return std::nullopt;
    std::uint64_t number = 0;
    for (const char digit : line.substr(kHeader.size(), kDigits)) {
      if (digit < '0' || digit > '9') return std::nullopt;
      number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    if (line[kPrefix - 1] != ' ' || line.substr(kPrefix) != filling(number)) return std::nullopt;
    return number;
  }

 private:
  std::string_view filling(std::uint64_t number) const {
    return std::string_view(filling_).substr(number % kPeriod, kLength - kPrefix);
  }

  std::string filling_;
};

struct Options {
  std::string address;
  std::uint64_t count = 0;
};

constexpr std::size_t kWrite = std::size_t{64} << 10;

bool send_all(const base::Fd& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(socket.get(), bytes.data(), std::min(bytes.size(), kWrite), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Ends the stream, and waits until the receiver closes the connection. The receiver closes the
/// connection after it has queued all messages.
bool wait_until_taken(const base::Fd& socket, double deadline) {
  if (::shutdown(socket.get(), SHUT_WR) != 0) return false;
  pollfd wait = {socket.get(), POLLIN, 0};
  const auto left = std::max(0.0, deadline - now()) * 1000;
  char byte = 0;
  return ::poll(&wait, 1, static_cast<int>(left)) == 1 && ::recv(socket.get(), &byte, 1, 0) == 0;
}

base::Result<void> send(const Options& options) {
  QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse(options.address));
  QUARRY_TRY_ASSIGN(const auto socket, connect_to(address));
  const double deadline = now() + kPatience;
  const Shape shape;
  std::string text;
  text.reserve(options.count * (kLength + 1));
  for (std::uint64_t number = 0; number < options.count; ++number) shape.append(text, number);

  const double began = now();
  if (!send_all(socket, text)) return base::fail_errno("cannot send");
  if (!wait_until_taken(socket, deadline))
    return base::fail(base::ErrorCode::kIo, "the messages were not read in time");
  fmt::print("{{\"began\": {:.6f}, \"taken\": {:.6f}}}\n", began, now());
  return {};
}

constexpr std::size_t kRead = std::size_t{256} << 10;

/// The messages received on all connections.
class Tally {
 public:
  Tally(const Shape& shape, std::uint64_t count) : shape_(shape), seen_(count, false) {}

  void take(std::string_view line) {
    ++messages_;
    const auto number = shape_.number_of(line);
    if (!number || *number >= seen_.size()) {
      ++spoilt_;
      return;
    }
    if (seen_[*number]) return;
    seen_[*number] = true;
    ++distinct_;
    if (*number != next_) ++out_of_order_;
    next_ = *number + 1;
  }

  bool is_complete() const { return distinct_ == seen_.size(); }
  std::uint64_t distinct() const { return distinct_; }

  void print(double last) const {
    fmt::print(
        "{{\"messages\": {}, \"distinct\": {}, \"spoilt\": {}, \"out_of_order\": {}, \"last\": "
        "{:.6f}}}\n",
        messages_, distinct_, spoilt_, out_of_order_, last);
  }

 private:
  const Shape& shape_;
  std::vector<bool> seen_;
  std::uint64_t next_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t distinct_ = 0;
  std::uint64_t spoilt_ = 0;
  std::uint64_t out_of_order_ = 0;
};

class Source {
 public:
  explicit Source(base::Fd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }

  /// Reads once. Returns false at the end of the connection.
  bool read(Tally& tally) {
    const ssize_t got = ::recv(socket_.get(), buffer_.data() + kept_, buffer_.size() - kept_, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    std::string_view text(buffer_.data(), kept_ + static_cast<std::size_t>(got));
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      tally.take(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    kept_ = text.size() > kLength ? 0 : text.size();
    std::memmove(buffer_.data(), text.data(), kept_);
    return true;
  }

 private:
  base::Fd socket_;
  std::vector<char> buffer_ = std::vector<char>(kRead);
  std::size_t kept_ = 0;
};

class Receiver {
 public:
  Receiver(base::Fd listener, const Shape& shape, std::uint64_t count)
      : listener_(std::move(listener)), tally_(shape, count) {}

  /// Runs until every message has arrived, no message has arrived for kMaxIdle seconds, kPatience
  /// seconds have passed, or SIGTERM arrives.
  void run() {
    const double deadline = now() + kPatience;
    while (asked_to_end == 0 && now() < deadline && !tally_.is_complete() && !is_idle())
      wait_and_read();
    tally_.print(last_);
  }

 private:
  bool is_idle() const { return last_ > 0 && now() - last_ > kMaxIdle; }

  void wait_and_read() {
    std::vector<pollfd> waits = {{listener_.get(), POLLIN, 0}};
    for (const Source& source : sources_) waits.push_back({source.fd(), POLLIN, 0});
    if (::poll(waits.data(), waits.size(), 100) <= 0) return;
    const std::uint64_t before = tally_.distinct();
    for (std::size_t i = waits.size() - 1; i > 0; --i) {
      if (waits[i].revents != 0 && !sources_[i - 1].read(tally_))
        sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    }
    if (tally_.distinct() != before) last_ = now();
    if (waits[0].revents != 0) {
      base::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket) sources_.emplace_back(std::move(socket));
    }
  }

  base::Fd listener_;
  Tally tally_;
  std::vector<Source> sources_;
  double last_ = 0;
};

base::Result<void> receive(const Options& options) {
  QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse(options.address));
  QUARRY_TRY_ASSIGN(auto listener, base::listen_on(address));
  const Shape shape;
  Receiver(std::move(listener), shape, options.count).run();
  return {};
}

int run(int argc, char** argv) {
  Options options;
  CLI::App program("Sends numbered messages, or receives and checks them.");
  program.require_subcommand(1);
  auto* sender = program.add_subcommand("send", "sends messages as fast as they are taken");
  auto* receiver = program.add_subcommand("receive", "counts messages until all have come");
  for (auto* command : {sender, receiver}) {
    command->add_option("address", options.address, "address to connect to, or to listen on")
        ->required();
    command->add_option("--count", options.count, "number of messages")
        ->required()
        ->check(CLI::Range(1, 100'000'000));
  }
  CLI11_PARSE(program, argc, argv);

  std::signal(SIGTERM, [](int) { asked_to_end = 1; });
  const auto done = sender->parsed() ? send(options) : receive(options);
  return quarry::status_of("spool_load", done);
}

}  // namespace

int main(int argc, char** argv) {
  return quarry::run_main("spool_load", argc, argv, run);
}
