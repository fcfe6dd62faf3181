// Sends a reply on a connection, whole or in parts.
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <fmt/core.h>

#include <chrono>
#include <string>
#include <utility>

#include "connection.h"

namespace quarry::gateway {
namespace {

bool has_body(int status) {
  return status != 204 && status != 304;
}

}  // namespace

void Connection::prepare_reply(const http::ReplyHeader& header, bool last) {
  state_ = State::kSending;
  started_ = std::chrono::steady_clock::now();
  pace_.begin();
  sent_ = 0;
  evkeyvalq* headers = evhttp_request_get_output_headers(request_);
  for (const auto& [name, value] : header.fields) {
    evhttp_add_header(headers, name.c_str(), value.c_str());
  }
  if (has_body(header.status)) {
    const std::string length = std::to_string(header.content_length.value_or(0));
    evhttp_add_header(headers, "Content-Length", length.c_str());
  }
  if (is_tls() && options_.hsts.count() > 0) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(options_.hsts).count();
    evhttp_add_header(headers, "Strict-Transport-Security", fmt::format("max-age={}", age).c_str());
  }
  if (last) evhttp_add_header(headers, "Connection", "close");
  set_deadline(options_.client_timeout);
}

void Connection::reply(const http::ReplyHeader& header, evbuffer* body, bool last) {
  abort_ = nullptr;
  prepare_reply(header, last);
  evhttp_send_reply(std::exchange(request_, nullptr), header.status, header.reason.c_str(),
                    asker_.head_only || !has_body(header.status) ? nullptr : body);
}

void Connection::begin_reply(const http::ReplyHeader& header, bool last) {
  prepare_reply(header, last);
  // evhttp does not use the chunked encoding here, because the headers contain a Content-Length.
  evhttp_send_reply_start(request_, header.status, header.reason.c_str());
}

void Connection::add_to_reply(evbuffer* body) {
  evhttp_send_reply_chunk(request_, body);
}

void Connection::end_reply() {
  abort_ = nullptr;
  evhttp_send_reply_end(std::exchange(request_, nullptr));
}

void Connection::flush() {
  evbuffer* output = bufferevent_get_output(bev_);
  if (is_tls()) {
    if (std::exchange(is_being_written_, true)) return;
    write_tls(output);
  } else {
    evbuffer_unfreeze(output, 1);
    evbuffer_write(output, descriptor());
    evbuffer_freeze(output, 1);
  }
  // If everything was written, run the write callback. Otherwise, the event loop writes the rest or
  // handles the error.
  if (evbuffer_get_length(output) == 0) bufferevent_trigger(bev_, EV_WRITE, 0);
}

void Connection::on_replied() {
  state_ = State::kWaiting;
  pace_.begin();
  has_replied_ = true;
  owner_.on_released(std::exchange(held_, 0));
  received_ = evbuffer_get_length(bufferevent_get_input(bev_));
  bufferevent_setwatermark(bev_, EV_READ, 0, 0);
  // Only set a deadline, even if the server is stopping: the connection must not be closed here,
  // because evhttp is on the stack.
  set_deadline(owner_.stopping() ? options_.stop_grace : options_.keepalive_timeout);
  owner_.on_replied(*this);
  if (received_ > 0) inspect();
}

}  // namespace quarry::gateway
