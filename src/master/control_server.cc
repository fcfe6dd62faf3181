#include "control_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace quarry::master {
namespace {

constexpr int kConnectionsAtOnce = 64;

constexpr std::string_view kRefused =
    "{\"error\":\"only root and the user that quarryd was started as can use this socket\"}\n";
constexpr std::string_view kUnknown = "{\"error\":\"unknown request\"}\n";

/// Returns whether the peer of FD is allowed to send questions. This check supplements the socket's
/// mode, because someone might have changed the mode.
bool may_ask(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

}  // namespace

ControlServer::ControlServer(event_base* base, int listener, Answer answer)
    : base_(base),
      listener_(listener),
      answer_(std::move(answer)),
      on_connection_(base, listener, EV_READ, [this] { take_connections(); }),
      pause_(base, -1, 0, [this] { take_connections(); }) {
  on_connection_.wait();
}

void ControlServer::take_connections() {
  for (int i = 0; i < kConnectionsAtOnce; ++i) {
    base::Fd fd(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      if (clients_.size() == kMaxClients) disconnect_one();
      take_connection(std::move(fd));
    } else if (errno == EAGAIN || errno == EINTR) {
      break;
    } else if (!clients_.empty()) {
      disconnect_one();  // to free a descriptor
    } else {
      // Pause for a second: the connection stays in the backlog, so the event loop would report it
      // continuously.
      return pause_.wait(std::chrono::seconds(1));
    }
  }
  on_connection_.wait();
}

void ControlServer::take_connection(base::Fd fd) {
  const bool is_refused = !may_ask(fd.get());
  auto owned = std::make_unique<Client>();
  Client& client = *owned;
  client.server = this;
  client.connection.reset(::bufferevent_socket_new(base_, fd.get(), BEV_OPT_CLOSE_ON_FREE));
  if (!client.connection) return;
  fd.release();
  clients_.push_back(std::move(owned));
  const auto on_read = [](bufferevent*, void* one) {
    static_cast<Client*>(one)->server->read_question(*static_cast<Client*>(one));
  };
  const auto on_end = [](bufferevent*, short, void* one) {
    static_cast<Client*>(one)->server->disconnect(*static_cast<Client*>(one));
  };
  const auto on_written = [](bufferevent*, void* one) {
    static_cast<Client*>(one)->server->disconnect(*static_cast<Client*>(one));
  };
  ::bufferevent_setcb(client.connection.get(), on_read, on_written, on_end, &client);
  const timeval patience = base::to_timeval(control::kPatience);
  ::bufferevent_set_timeouts(client.connection.get(), &patience, &patience);
  if (is_refused) return send_answer(client, kRefused);
  ::bufferevent_enable(client.connection.get(), EV_READ);
}

void ControlServer::disconnect_one() {
  const auto silent = std::ranges::find(clients_, false, &Client::is_answered);
  clients_.erase(silent == clients_.end() ? clients_.begin() : silent);
}

void ControlServer::read_question(Client& client) {
  std::array<char, control::kMaxQuestion> bytes;
  const ev_ssize_t size = ::evbuffer_copyout(::bufferevent_get_input(client.connection.get()),
                                             bytes.data(), bytes.size());
  const std::string_view text(bytes.data(),
                              static_cast<std::size_t>(std::max<ev_ssize_t>(size, 0)));
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos && text.size() < bytes.size()) return;
  const auto question = control::parse_question(text.substr(0, end));
  send_answer(client, question ? answer_(*question) : std::string(kUnknown));
}

void ControlServer::send_answer(Client& client, std::string_view answer) {
  client.is_answered = true;
  ::bufferevent_disable(client.connection.get(), EV_READ);
  ::bufferevent_write(client.connection.get(), answer.data(), answer.size());
}

void ControlServer::disconnect(const Client& client) {
  std::erase_if(clients_, [&](const auto& each) { return each.get() == &client; });
}

}  // namespace quarry::master
