// Refuses a request: sends a page instead of evhttp's reply, then discards input for a while.
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "connection.h"
#include "quarry/http/request_id.h"

namespace quarry::gateway {
namespace {

constexpr std::chrono::milliseconds kLingerTime{10'000};
constexpr std::size_t kMaxLingered = std::size_t{256} << 20;

void drain(evbuffer* buffer) {
  evbuffer_drain(buffer, evbuffer_get_length(buffer));
}

Connection* connection_of(void* argument) {
  return static_cast<Connection*>(argument);
}

}  // namespace

void Connection::refuse(http::Refusal refusal, bool is_logged) {
  if (is_refused()) return;
  refusal_ = std::move(refusal);
  is_logged_ = is_logged;
  state_ = State::kRefusing;
  pace_.begin();
  chunked_.reset();
  drain(bufferevent_get_input(bev_));
  // Stop reading until the wake-up, because evhttp must not complete the request before that.
  bufferevent_disable(bev_, EV_READ);
  // Stop counting the body now, because the counted bytes would make the front refuse other
  // clients. evhttp frees the body only when it frees the connection.
  owner_.on_released(std::exchange(held_, 0));
  // evhttp is on the stack now, so the reply is sent in the wake-up. The wake-up comes before
  // evhttp can write anything, because writing needs another iteration of the event loop.
  event_active(wake_.get(), EV_TIMEOUT, 0);
}

void Connection::send_refusal() {
  asker_.request_id = http::request_id_from(asker_.request_id);
  owner_.on_refused(*this, refusal_, is_logged_);
  evbuffer* output = bufferevent_get_output(bev_);
  // Except during writes to the socket, libevent freezes the output buffer of a plain connection.
  if (!is_tls()) evbuffer_unfreeze(output, 1);
  drain(output);
  if (!is_tls()) evbuffer_freeze(output, 1);
  bufferevent_setwatermark(bev_, EV_READ, 0, 0);
  bufferevent_disable(bev_, EV_READ);
  bufferevent_setcb(
      bev_, nullptr, [](bufferevent*, void* self) { connection_of(self)->linger(); },
      [](bufferevent*, short, void* self) { connection_of(self)->close(); }, this);
  const std::string page = http::refusal_page(refusal_, asker_, options_.place);
  bufferevent_write(bev_, page.data(), page.size());
  bufferevent_enable(bev_, EV_WRITE);
  set_deadline(options_.client_timeout);
}

void Connection::linger() {
  state_ = State::kLingering;
  pace_.begin();
  received_ = 0;
  end_tls();
  ::shutdown(descriptor(), SHUT_WR);
  bufferevent_setcb(
      bev_,
      [](bufferevent* bev, void* argument) {
        Connection* self = connection_of(argument);
        self->received_ += evbuffer_get_length(bufferevent_get_input(bev));
        drain(bufferevent_get_input(bev));
        if (self->received_ > kMaxLingered) self->close();
      },
      nullptr, [](bufferevent*, short, void* self) { connection_of(self)->close(); }, this);
  bufferevent_disable(bev_, EV_WRITE);
  bufferevent_enable(bev_, EV_READ);
  set_deadline(kLingerTime);
}

}  // namespace quarry::gateway
