#include "socket_server.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <mutex>
#include <utility>
#include <vector>

#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"

namespace quarry::replica {

using base::Fd;
using std::chrono::milliseconds;

struct SocketServer::Client {
  std::uint64_t id = 0;
  Fd fd;
  TimePoint deadline;
  std::string request;
  bool is_whole = false;  // whether the request was received
  std::string answer;     // the part that is not written yet
  std::shared_ptr<const void> kept;
  bool is_gone = false;

  bool waits() const { return is_whole && answer.empty(); }
  short events() const {
    if (!answer.empty()) return POLLOUT;
    return waits() ? short{0} : short{POLLIN};  // poll(2) always reports a hang-up
  }
};

/// Answers from other threads.
class SocketServer::Mailbox {
 public:
  struct Letter {
    std::uint64_t client;
    Result<std::string> result;
    std::shared_ptr<const void> kept;
  };

  explicit Mailbox(Fd wake) : wake_(std::move(wake)) {}

  void put(Letter letter) {
    const std::lock_guard lock(mutex_);
    letters_.push_back(std::move(letter));
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }
  std::vector<Letter> take() {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    (void)!::read(wake_.get(), &count, sizeof count);
    return std::exchange(letters_, {});
  }
  int fd() const { return wake_.get(); }

 private:
  const Fd wake_;
  std::mutex mutex_;  // guards letters_
  std::vector<Letter> letters_;
};

void SocketServer::Answer::operator()(const Result<std::string>& result,
                                      std::shared_ptr<const void> kept) const {
  mailbox_->put({client_, result, std::move(kept)});
}

Result<std::unique_ptr<SocketServer>> SocketServer::create(Fd listener, Handle handle,
                                                           const SocketServerOptions& options) {
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno("eventfd");
  return std::unique_ptr<SocketServer>(new SocketServer(
      std::move(listener), std::make_shared<Mailbox>(std::move(wake)), std::move(handle), options));
}

SocketServer::SocketServer(Fd listener, std::shared_ptr<Mailbox> mailbox, Handle handle,
                           const SocketServerOptions& options)
    : listener_(std::move(listener)),
      mailbox_(std::move(mailbox)),
      handle_(std::move(handle)),
      options_(options) {}

SocketServer::~SocketServer() = default;

void SocketServer::run(int fd, const std::function<bool()>& goes_on) {
  while (round(fd, goes_on)) {
  }
  deliver();
  // Clients that have not received an answer ask again. After a reload, the next process answers.
  clients_.clear();
}

/// Returns the timeout for poll(2) in milliseconds.
int SocketServer::until_deadline() const {
  TimePoint first =
      next_accept_ > std::chrono::steady_clock::now() ? next_accept_ : TimePoint::max();
  for (const Client& one : clients_) {
    if (!one.waits()) first = std::min(first, one.deadline);
  }
  if (first == TimePoint::max()) return -1;
  const auto left =
      std::chrono::ceil<milliseconds>(first - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

/// Returns false if the server should stop.
bool SocketServer::round(int fd, const std::function<bool()>& goes_on) {
  const bool accepts = std::chrono::steady_clock::now() >= next_accept_ && make_room();
  std::vector<pollfd> polled{
      {.fd = fd, .events = POLLIN, .revents = 0},
      {.fd = mailbox_->fd(), .events = POLLIN, .revents = 0},
      {.fd = accepts ? listener_.get() : -1, .events = POLLIN, .revents = 0}};
  for (const Client& one : clients_) {
    polled.push_back({.fd = one.fd.get(), .events = one.events(), .revents = 0});
  }
  if (::poll(polled.data(), polled.size(), until_deadline()) < 0) {
    if (errno == EINTR) return true;
    base::log(base::LogLevel::kAlert, "{}", fail_errno("poll").error().message);
    return false;
  }
  if (polled[0].revents != 0 && !goes_on()) return false;
  std::size_t index = 3;
  for (Client& one : clients_) serve(one, polled[index++].revents);
  if (polled[1].revents != 0) deliver();
  if (polled[2].revents != 0) accept_some();
  clients_.remove_if([](const Client& one) { return one.is_gone; });
  return true;
}

/// Returns whether a client can be accepted. Disconnects the client that has been sending its
/// request for the longest time if there are too many clients.
bool SocketServer::make_room() {
  if (clients_.size() < options_.max_clients) return true;
  const auto slowest =
      std::ranges::find_if(clients_, [](const Client& one) { return !one.is_whole; });
  if (slowest == clients_.end()) return false;
  clients_.erase(slowest);
  return true;
}

void SocketServer::accept_some() {
  while (clients_.size() < options_.max_clients) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      clients_.push_back({.id = next_id_++,
                          .fd = std::move(fd),
                          .deadline = std::chrono::steady_clock::now() + options_.time_out,
                          .request = {},
                          .answer = {},
                          .kept = nullptr});
      // The request has usually arrived with the connection.
      receive(clients_.back());
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    // Pause after an error, for example if the limit of open files is reached. The listening socket
    // stays readable, so the loop would be busy otherwise.
    base::log(base::LogLevel::kError, "{}", fail_errno("accept").error().message);
    next_accept_ = std::chrono::steady_clock::now() + milliseconds(100);
    return;
  }
}

void SocketServer::serve(Client& client, short events) {
  if (!client.answer.empty()) {
    if (events != 0) write(client);
  } else if ((events & POLLIN) != 0) {
    receive(client);
  } else if (events != 0) {
    client.is_gone = true;
  }
  if (events == 0 && !client.waits() && std::chrono::steady_clock::now() >= client.deadline) {
    client.is_gone = true;
  }
}

void SocketServer::receive(Client& client) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::recv(client.fd.get(), buffer.data(), buffer.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    client.is_gone = true;
    return;
  }
  client.request.append(buffer.data(), static_cast<std::size_t>(count));
  const std::size_t end = client.request.find('\n');
  if (std::min(end, client.request.size()) > options_.max_request) {
    client.is_whole = true;
    return answer(client, fail(ErrorCode::kLimit, "the request is too long"));
  }
  if (end == std::string::npos) return;
  std::size_t size = end;
  if (client.request.starts_with("land ")) {
    const std::size_t word = client.request.rfind(' ', end) + 1;
    const auto content =
        base::parse_number<std::size_t>(std::string_view(client.request).substr(word, end - word));
    if (!content || *content > options_.max_content) {
      client.is_whole = true;
      return answer(client, fail(ErrorCode::kLimit, "the size of the content is invalid"));
    }
    size += 1 + *content;
    client.deadline = std::chrono::steady_clock::now() + options_.time_out;
  }
  if (client.request.size() < size) return;
  client.is_whole = true;
  client.request.resize(size);
  handle_(client.request, Answer(mailbox_, client.id));
}

void SocketServer::deliver() {
  for (auto& [id, result, kept] : mailbox_->take()) {
    const auto client = std::ranges::find(clients_, id, &Client::id);
    if (client == clients_.end() || !client->waits()) continue;
    client->kept = std::move(kept);
    answer(*client, result);
  }
}

void SocketServer::answer(Client& client, const Result<std::string>& result) {
  client.answer = result ? fmt::format("ok {}\n", *result)
                         : fmt::format("error {}\n", base::printable(result.error().message));
  client.deadline = std::chrono::steady_clock::now() + options_.time_out;
  write(client);
}

void SocketServer::write(Client& client) {
  const ssize_t count =
      ::send(client.fd.get(), client.answer.data(), client.answer.size(), MSG_NOSIGNAL);
  if (count < 0) {
    client.is_gone = errno != EAGAIN && errno != EINTR;
    return;
  }
  client.answer.erase(0, static_cast<std::size_t>(count));
  client.is_gone = client.answer.empty() && client.kept == nullptr;
}

}  // namespace quarry::replica
