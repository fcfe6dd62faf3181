// Requests with a chunked body.
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "connection.h"

namespace quarry::gateway {

void Connection::begin_chunked(http::ChunkedHead head, std::size_t size) {
  evbuffer_drain(bufferevent_get_input(bev_), size);
  const bool expects_continue = head.expects_continue;
  chunked_.emplace(ChunkedRequest{std::move(head), http::ChunkedBody(options_.max_body),
                                  base::EventBufferPtr(evbuffer_new())});
  if (!chunked_->body) return refuse({.status = 503, .text = "out of memory"});
  if (expects_continue) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    // Remove evhttp's write callback, which must not be called before evhttp has sent anything.
    // When evhttp sends the reply, it sets the callback again.
    bufferevent_data_cb on_read = nullptr;
    bufferevent_event_cb on_event = nullptr;
    void* argument = nullptr;
    bufferevent_getcb(bev_, &on_read, nullptr, &on_event, &argument);
    bufferevent_setcb(bev_, on_read, nullptr, on_event, argument);
    bufferevent_enable(bev_, EV_WRITE);
    bufferevent_write(bev_, kContinue.data(), kContinue.size());
  }
  decode_chunks();
}

void Connection::decode_chunks() {
  evbuffer* const input = bufferevent_get_input(bev_);
  while (chunked_ && evbuffer_get_length(input) > 0) {
    const std::size_t size = evbuffer_get_contiguous_space(input);
    const auto* start =
        reinterpret_cast<const char*>(evbuffer_pullup(input, static_cast<ev_ssize_t>(size)));
    std::string_view bytes(start, size);
    std::string decoded;
    const auto status = chunked_->decoder.feed(bytes, decoded);
    const bool is_stored = evbuffer_add(chunked_->body.get(), decoded.data(), decoded.size()) == 0;
    evbuffer_drain(input, size - bytes.size());
    if (!is_stored) return refuse({.status = 503, .text = "out of memory"});
    switch (status) {
      case http::ChunkedBody::Status::kMore:
        break;
      case http::ChunkedBody::Status::kEnd:
        return end_chunked();
      case http::ChunkedBody::Status::kTooLarge:
        return refuse({.status = 413,
                       .text = fmt::format("the body is larger than {} bytes", options_.max_body)});
      case http::ChunkedBody::Status::kMalformed:
        return refuse({.status = 400, .text = "the chunked body is malformed"});
    }
  }
}

void Connection::end_chunked() {
  evbuffer* const body = chunked_->body.get();
  const std::string head = chunked_->head.with_content_length(evbuffer_get_length(body));
  moving_ = true;
  const bool is_done = evbuffer_prepend(body, head.data(), head.size()) == 0 &&
                       evbuffer_prepend_buffer(bufferevent_get_input(bev_), body) == 0;
  moving_ = false;
  chunked_.reset();
  if (!is_done) refuse({.status = 503, .text = "out of memory"});
}

}  // namespace quarry::gateway
