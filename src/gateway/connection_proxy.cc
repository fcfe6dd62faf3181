// The PROXY header at the start of a connection from a trusted proxy.
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/socket.h>

#include <cerrno>

#include "connection.h"
#include "proxy_header.h"

namespace quarry::gateway {

void Connection::begin_proxy_header() {
  state_ = State::kProxyHeader;
  // Until the header is complete, the bufferevent must not read, because the header is not part of
  // the request or TLS handshake. A handshake cannot be paused, so detach the socket from the
  // bufferevent.
  proxied_socket_ = descriptor();
  if (is_tls()) {
    bufferevent_setfd(bev_, -1);
  } else {
    bufferevent_disable(bev_, EV_READ);
  }
  proxy_readable_.reset(event_new(
      bufferevent_get_base(bev_), proxied_socket_, EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Connection*>(self)->on_proxy_header(); },
      this));
  if (!proxy_readable_) return close();
  event_add(proxy_readable_.get(), nullptr);
}

void Connection::end_proxy_header() {
  state_ = State::kWaiting;
  proxy_readable_.reset();
  if (is_tls()) {
    bufferevent_setfd(bev_, proxied_socket_);
  } else {
    bufferevent_enable(bev_, EV_READ);
  }
}

void Connection::on_proxy_header() {
  char bytes[1024];
  const ssize_t size = ::recv(proxied_socket_, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return close();
  const std::size_t known = proxy_header_.size();
  proxy_header_.append(bytes, static_cast<std::size_t>(size));
  const auto header = parse_proxy_header(proxy_header_);
  if (!header) {
    owner_.on_failed(*this, header.error().message);
    return close();
  }
  // Leave the bytes after the header in the socket.
  const std::size_t used = *header ? (*header)->size - known : static_cast<std::size_t>(size);
  if (::recv(proxied_socket_, bytes, used, MSG_DONTWAIT) != static_cast<ssize_t>(used)) {
    return close();
  }
  if (!*header) return;
  proxied_ = (*header)->client;
  proxy_header_.clear();
  end_proxy_header();
  wait_for_request();
  begin();
}

}  // namespace quarry::gateway
