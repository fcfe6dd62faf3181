// The TLS handshake of a connection, the records of its replies, and its end.
#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/http.h>
#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "connection.h"
#include "quarry/base/log.h"
#include "quarry/base/log_request.h"
#include "quarry/http/request_id.h"

namespace quarry::gateway {
namespace {

/// Returns whether ERROR means that the client's first bytes are not TLS. OpenSSL recognizes some
/// HTTP methods, and reports other bytes as a wrong version number.
bool is_plain_text(unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return false;
  const int reason = ERR_GET_REASON(error);
  return reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST ||
         reason == SSL_R_WRONG_VERSION_NUMBER;
}

}  // namespace

void Connection::begin_handshake() {
  state_ = State::kHandshake;
  bufferevent_getcb(bev_, &evhttp_callbacks_.read, &evhttp_callbacks_.write,
                    &evhttp_callbacks_.event, nullptr);
  bufferevent_setcb(
      bev_, nullptr, nullptr,
      [](bufferevent*, short what, void* self) {
        static_cast<Connection*>(self)->on_handshake(what);
      },
      this);
}

void Connection::on_handshake(short what) {
  if ((what & BEV_EVENT_CONNECTED) == 0) return on_handshake_failed();
  bufferevent_setcb(bev_, evhttp_callbacks_.read, evhttp_callbacks_.write, evhttp_callbacks_.event,
                    evcon_);
  state_ = State::kWaiting;
  wait_for_request();
}

void Connection::on_handshake_failed() {
  const unsigned long error = bufferevent_get_openssl_error(bev_);
  if (is_plain_text(error)) {
    refuse_plain_http();
  } else if (const char* const reason = ERR_reason_error_string(error)) {
    owner_.on_failed(*this, fmt::format("the TLS handshake failed: {}", reason));
  } else {
    // Log this at a low level, because port scanners and health checks do it often.
    base::log(base::LogLevel::kDebug, "client {}: disconnected during the TLS handshake", client());
  }
  close();
}

void Connection::refuse_plain_http() {
  const http::Refusal refusal{.status = 400,
                              .text = "this port requires HTTPS: use a URL with https://"};
  asker_.request_id = http::request_id_from("");
  const base::LogRequest logged(asker_.request_id);
  owner_.on_refused(*this, refusal, /*is_logged=*/false);
  owner_.on_failed(*this, fmt::format("{} {}", refusal.status, refusal.text));
  const std::string page = http::refusal_page(refusal, asker_);
  ::send(descriptor(), page.data(), page.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // Read the rest of the request, because otherwise a TCP reset could prevent the client from
  // reading the page.
  char rest[4096];
  for (int i = 0; i < 8 && ::recv(descriptor(), rest, sizeof rest, MSG_DONTWAIT) > 0; ++i) {
  }
}

void Connection::write_tls(evbuffer* output) {
  constexpr std::size_t kMaxRecord = SSL3_RT_MAX_PLAIN_LENGTH;
  while (const std::size_t size = std::min(evbuffer_get_length(output), kMaxRecord)) {
    const auto* bytes = evbuffer_pullup(output, static_cast<ev_ssize_t>(size));
    if (bytes == nullptr || SSL_write(tls_, bytes, static_cast<int>(size)) <= 0) {
      // Leave the rest to libevent, which repeats the write and handles a failure.
      return ERR_clear_error();
    }
    evbuffer_drain(output, size);
  }
}

void Connection::end_tls() {
  if (!is_tls() || SSL_is_init_finished(tls_) == 0) return;
  SSL_shutdown(tls_);
  ERR_clear_error();
}

}  // namespace quarry::gateway
