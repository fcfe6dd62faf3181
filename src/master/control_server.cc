#include "control_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "quarry/base/log.h"

namespace quarry::master {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr int kConnectionsAtOnce = 64;
constexpr timeval kPause{1, 0};

constexpr std::string_view kRefused =
    "{\"error\":\"only root and the user that quarryd was started as may ask\"}\n";
constexpr std::string_view kUnknown = "{\"error\":\"no such question\"}\n";

/// The socket's mode already restricts access; this check also works if the mode was changed.
bool may_ask(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

bool would_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

ControlServer::ControlServer(event_base* base, int listener, Answer answer)
    : base_(base), listener_(listener), answer_(std::move(answer)) {
  const auto take = [](evutil_socket_t, short, void* server) {
    static_cast<ControlServer*>(server)->take_connections();
  };
  on_connection_.reset(::event_new(base_, listener_, EV_READ, take, this));
  pause_.reset(::event_new(base_, -1, 0, take, this));
  ::event_add(on_connection_.get(), nullptr);
}

void ControlServer::take_connections() {
  for (int i = 0; i < kConnectionsAtOnce; ++i) {
    base::Fd fd(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      if (clients_.size() == kMostClients) let_one_go();
      take_connection(std::move(fd));
    } else if (would_wait()) {
      break;
    } else if (!clients_.empty()) {
      let_one_go();  // out of descriptors
    } else {
      // The connection stays in the backlog and would be reported continuously.
      ::event_add(pause_.get(), &kPause);
      return;
    }
  }
  ::event_add(on_connection_.get(), nullptr);
}

void ControlServer::take_connection(base::Fd fd) {
  auto client = std::make_unique<Client>();
  client->server = this;
  if (!may_ask(fd.get())) client->answer = kRefused;
  client->fd = std::move(fd);
  client->deadline = steady_clock::now() + control::kPatience;
  const auto go_on_with = [](evutil_socket_t, short what, void* argument) {
    auto& c = *static_cast<Client*>(argument);
    if ((what & EV_TIMEOUT) != 0 || !c.server->go_on(c)) c.server->drop(c);
  };
  client->event.reset(::event_new(base_, -1, 0, go_on_with, client.get()));
  // Most clients have sent their question already and can be answered immediately.
  if (go_on(*client)) clients_.push_back(std::move(client));
}

void ControlServer::let_one_go() {
  const auto silent = std::ranges::find_if(
      clients_, [](const std::unique_ptr<Client>& client) { return client->answer.empty(); });
  clients_.erase(silent == clients_.end() ? clients_.begin() : silent);
}

bool ControlServer::go_on(Client& client) {
  return client.answer.empty() ? read_question(client) : write_answer(client);
}

bool ControlServer::read_question(Client& client) {
  std::array<char, control::kMostQuestion> bytes;
  const std::size_t room = control::kMostQuestion - client.question.size();
  const ssize_t size = ::recv(client.fd.get(), bytes.data(), room, 0);
  if (size < 0 && would_wait()) return wait_for(client, EV_READ);
  if (size <= 0) return false;
  client.question.append(bytes.data(), static_cast<std::size_t>(size));
  const std::size_t end = client.question.find('\n');
  if (end == std::string::npos && client.question.size() < control::kMostQuestion) {
    return wait_for(client, EV_READ);
  }
  const auto question = control::parse_question(std::string_view(client.question).substr(0, end));
  client.answer = question ? answer_(*question) : kUnknown;
  return write_answer(client);
}

bool ControlServer::write_answer(Client& client) {
  const std::string_view rest = std::string_view(client.answer).substr(client.sent);
  const ssize_t size = ::send(client.fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
  if (size < 0) return would_wait() && wait_for(client, EV_WRITE);
  client.sent += static_cast<std::size_t>(size);
  return client.sent < client.answer.size() && wait_for(client, EV_WRITE);
}

bool ControlServer::wait_for(Client& client, short what) {
  const auto left = client.deadline - steady_clock::now();
  const std::int64_t micros = std::chrono::duration_cast<microseconds>(left).count();
  if (micros <= 0) return false;
  const timeval wait{micros / 1000000, micros % 1000000};
  ::event_del(client.event.get());
  ::event_assign(client.event.get(), base_, client.fd.get(), what,
                 ::event_get_callback(client.event.get()), &client);
  return ::event_add(client.event.get(), &wait) == 0;
}

void ControlServer::drop(const Client& client) {
  std::erase_if(clients_, [&](const auto& each) { return each.get() == &client; });
}

}  // namespace quarry::master
