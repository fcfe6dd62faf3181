#include "connection.h"

#include <event2/bufferevent_ssl.h>
#include <event2/http_struct.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>

#include "quarry/base/log.h"
#include "quarry/http/syntax.h"

namespace quarry::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Limit on bytes that a client sends ahead (pipelining) while its request is handled.
constexpr std::size_t kMaxAhead = std::size_t{64} << 10;
constexpr std::size_t kWriteAtOnce = std::size_t{1} << 20;
/// Maximum number of unsent bytes in the kernel's buffer. Without this limit, the kernel buffers
/// megabytes for each client that does not read.
constexpr int kMaxNotSent = 64 << 10;
constexpr milliseconds kRequestGrace{1'000};
constexpr std::size_t kMaxFirstLine = 200;

std::string_view contents(evbuffer* buffer, std::size_t limit) {
  const std::size_t size = std::min(evbuffer_get_length(buffer), limit);
  const auto* bytes = evbuffer_pullup(buffer, static_cast<ev_ssize_t>(size));
  return {reinterpret_cast<const char*>(bytes), bytes == nullptr ? 0 : size};
}

Connection* self_of(void* argument) {
  return static_cast<Connection*>(argument);
}

}  // namespace

Connection::Connection(event_base* base, const GatewayOptions& options, const FrontSocket& socket,
                       Owner& owner, TlsSessionPtr tls)
    : options_(options),
      socket_(socket),
      owner_(owner),
      started_(steady_clock::now()),
      pace_(options.min_rate) {
  head_.reset(evbuffer_new());
  deadline_.reset(event_new(
      base, -1, 0, [](evutil_socket_t, short, void* self) { self_of(self)->on_deadline(); }, this));
  wake_.reset(event_new(
      base, -1, 0, [](evutil_socket_t, short, void* self) { self_of(self)->on_woken(); }, this));
  if (!head_ || !deadline_ || !wake_) return;
  if (tls) {
    tls_ = tls.release();
    bev_ = bufferevent_openssl_socket_new(base, -1, tls_, BUFFEREVENT_SSL_ACCEPTING,
                                          BEV_OPT_CLOSE_ON_FREE);
  } else {
    bev_ = bufferevent_socket_new(base, -1, 0);
  }
  if (bev_ == nullptr) return;
  bufferevent_set_max_single_write(bev_, kWriteAtOnce);
  evbuffer_add_cb(
      bufferevent_get_input(bev_),
      [](evbuffer*, const evbuffer_cb_info* info, void* self) {
        if (info->n_added > 0) self_of(self)->on_input(info->n_added);
      },
      this);
  evbuffer_add_cb(
      bufferevent_get_output(bev_),
      [](evbuffer*, const evbuffer_cb_info* info, void* self) { self_of(self)->on_output(*info); },
      this);
  // evhttp attaches the bufferevent to its own connection later. If evhttp fails first, this
  // reference keeps the bufferevent alive, so that the failure can be detected.
  bufferevent_incref(bev_);
  event_active(wake_.get(), EV_TIMEOUT, 0);
}

Connection::~Connection() {
  if (evcon_ == nullptr && bev_ != nullptr) bufferevent_decref(bev_);
}

void Connection::on_arrived() {
  void* argument = nullptr;
  bufferevent_event_cb callback = nullptr;
  bufferevent_getcb(bev_, nullptr, nullptr, &callback, &argument);
  // If the callback is missing, evhttp has failed to create the connection and has freed the
  // bufferevent.
  if (callback == nullptr) return owner_.on_gone(*this);
  bufferevent_decref(bev_);
  ::setsockopt(descriptor(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMaxNotSent, sizeof kMaxNotSent);
  evcon_ = static_cast<evhttp_connection*>(argument);
  evhttp_connection_set_closecb(
      evcon_, [](evhttp_connection*, void* self) { self_of(self)->on_closed(); }, this);
  wait_for_request();
  const auto address = peer();
  const bool has_header =
      socket_.has_proxy_protocol && address && options_.trusted_proxies.contains(*address);
  has_header ? begin_proxy_header() : begin();
}

void Connection::begin() {
  if (is_tls()) begin_handshake();
  owner_.on_arrived(*this);
}

void Connection::wait_for_request() {
  if (has_pending_refusal()) return set_deadline(kRequestGrace);
  set_deadline(owner_.stopping() ? options_.stop_grace : options_.client_timeout);
}

void Connection::on_woken() {
  if (evcon_ == nullptr) return on_arrived();
  send_refusal();
}

milliseconds Connection::time_for(std::size_t bytes) const {
  return options_.client_timeout +
         milliseconds(
             static_cast<std::int64_t>(bytes / std::max<std::size_t>(options_.min_rate, 1)) * 1000);
}

void Connection::set_deadline(milliseconds time) {
  const timeval value = base::to_timeval(time);
  event_add(deadline_.get(), &value);
}

milliseconds Connection::age() const {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - started_);
}

milliseconds Connection::time_left(std::size_t bytes) const {
  return time_for(bytes) - age();
}

bool Connection::has_sent_all() const {
  return evbuffer_get_length(bufferevent_get_output(bev_)) == 0;
}

std::size_t Connection::acknowledged() const {
  return sent_ - std::min(sent_, base::unacknowledged(descriptor()));
}

void Connection::on_deadline() {
  if (state_ == State::kHandling) return;
  if (state_ < State::kWaiting) {
    owner_.on_failed(*this, state_ == State::kHandshake ? "the TLS handshake took too long"
                                                        : "the PROXY header took too long");
    return close();
  }
  if (has_pending_refusal() && !is_refused()) return refuse(pending_refusal_, false);
  if (state_ == State::kBody) {
    if (const auto left = time_left(received_); left > milliseconds::zero()) {
      return set_deadline(left);
    }
  }
  if (state_ == State::kSending) {
    if (has_sent_all()) {
      // All bytes were sent, so the client was waiting for the pool until now. Start the client's
      // time limit again.
      started_ = steady_clock::now();
      pace_.begin();
      sent_ = 0;
    }
    const auto left = time_left(acknowledged());
    if (left > milliseconds::zero()) return set_deadline(left);
    owner_.on_failed(
        *this, fmt::format(
                   "connection closed, because the client does not read its reply: {} bytes unsent",
                   evbuffer_get_length(bufferevent_get_output(bev_))));
  }
  if (state_ == State::kHead || state_ == State::kBody) {
    return refuse({.status = 408, .text = "the request took too long to arrive"});
  }
  // If a request has just arrived, do not close the connection before the request is answered.
  if (state_ == State::kWaiting && owner_.stopping() && has_unread()) return end_soon();
  close();
}

void Connection::close() {
  if (state_ == State::kProxyHeader) end_proxy_header();
  evhttp_connection_free(evcon_);
}

void Connection::end_soon() {
  set_deadline(options_.stop_grace);
}

void Connection::evict() {
  is_evicted_ = true;
  close();
}

std::optional<Connection::Rank> Connection::rank() const {
  if (evcon_ == nullptr) return std::nullopt;
  if (state_ == State::kHandling) return std::nullopt;
  if (state_ == State::kSending && has_sent_all()) return std::nullopt;
  const double pace = pace_.bytes_a_second();
  if (pace_.has_moved() && pace >= static_cast<double>(options_.min_rate)) return std::nullopt;
  return Rank{.is_refused = is_refused() || has_pending_refusal(),
              .is_kept = state_ == State::kWaiting && has_replied_,
              .pace = pace};
}

bool Connection::has_unread() const {
  char byte = 0;
  return ::recv(descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void Connection::on_input(std::size_t added) {
  if (moving_) return;
  switch (state_) {
    case State::kWaiting:
    case State::kHead:
      received_ += added;
      if (state_ == State::kHead) pace_.add(added);
      inspect();
      break;
    case State::kBody:
      received_ += added;
      pace_.add(added);
      largest_ = std::max(largest_, received_);
      hold(added);
      if (chunked_) decode_chunks();
      break;
    default:
      break;
  }
}

void Connection::hold(std::size_t bytes) {
  held_ += bytes;
  owner_.on_held(*this, bytes);
}

void Connection::inspect() {
  evbuffer* input = bufferevent_get_input(bev_);
  moving_ = true;
  evbuffer_prepend_buffer(input, head_.get());
  if (!skip_empty_lines(input)) {
    moving_ = false;
    return;
  }
  if (state_ == State::kWaiting) {
    state_ = State::kHead;
    asker_ = {};
    first_line_.clear();
    started_ = steady_clock::now();
    pace_.begin();
    pace_.add(received_);
    set_deadline(has_pending_refusal() ? kRequestGrace : options_.client_timeout);
  }
  // Look at one byte more than a head is allowed to have, so that a head that is too long is
  // detected.
  const std::string_view bytes = contents(input, options_.max_header + 1);
  const std::size_t size = http::header_block_size(bytes);
  // Input that cannot become a request, such as TLS on the wrong port, is refused below. Otherwise,
  // a TLS client would wait for an answer forever.
  const bool hopeless = !bytes.empty() && !http::is_token(bytes.substr(0, 1));
  if (size == std::string_view::npos && bytes.size() <= options_.max_header) {
    evbuffer_add_buffer(head_.get(), input);
  }
  moving_ = false;
  const std::string_view head = bytes.substr(0, size);
  if (size != std::string_view::npos || bytes.size() > options_.max_header) note_request_line(head);
  if (has_pending_refusal() && !first_line_.empty()) return refuse(pending_refusal_, false);
  if (size == std::string_view::npos) {
    if (hopeless) {
      refuse({.status = 400, .text = "this is not an HTTP request"});
    } else if (bytes.size() > options_.max_header) {
      refuse({.status = 431,
              .text = fmt::format("request line and headers exceed the limit of {} bytes",
                                  options_.max_header)});
    }
    return;
  }
  if (auto refusal = http::refuse_head(head, options_.max_body, /*can_decode=*/true)) {
    return refuse(*std::move(refusal));
  }
  auto chunked = http::ChunkedHead::in(head);
  state_ = State::kBody;
  hold(received_);
  if (chunked && !is_refused()) begin_chunked(*std::move(chunked), size);
}

void Connection::note_request_line(std::string_view head) {
  first_line_ = head.substr(0, std::min(head.find_first_of("\r\n"), kMaxFirstLine));
  asker_ = http::Asker::of(head);
  const auto address = asker_.request_id.empty() ? std::nullopt : peer();
  if (!address || !options_.trusted_proxies.contains(*address)) asker_.request_id.clear();
}

bool Connection::skip_empty_lines(evbuffer* input) {
  // Empty lines are not part of a request. A client that sends only empty lines counts as silent.
  if (state_ != State::kWaiting) return true;
  while (evbuffer_get_length(input) > 0) {
    const std::string_view bytes = contents(input, options_.max_header);
    const std::size_t size = http::size_of_empty_lines(bytes);
    evbuffer_drain(input, size);
    received_ -= std::min(received_, size);
    if (size == bytes.size()) continue;
    if (bytes.substr(size) != "\r") return true;
    // INPUT is a single CR, which might be the first half of a line end. Keep the CR until the next
    // byte arrives.
    evbuffer_add_buffer(head_.get(), input);
  }
  return false;
}

void Connection::on_output(const evbuffer_cb_info& info) {
  sent_ += info.n_deleted;
  queued_ += info.n_added - info.n_deleted;
  largest_ = std::max(largest_, queued_);
  owner_.on_queued(*this, static_cast<std::ptrdiff_t>(info.n_added) -
                              static_cast<std::ptrdiff_t>(info.n_deleted));
  if (state_ == State::kSending) {
    pace_.add(info.n_deleted);
    // If the output was empty, the client was waiting for the pool until now. Start measuring
    // again.
    if (info.orig_size == 0 && info.n_added > 0) pace_.begin();
  }
  if (info.n_added == 0) return;
  if (info.orig_size == 0) is_being_written_ = false;
  // In all other states, evhttp itself has added the output. `100 Continue` is kept, and an error
  // page is replaced by a refusal.
  if (state_ == State::kSending || state_ == State::kRefusing || state_ == State::kLingering)
    return;
  constexpr std::string_view kContinue = "HTTP/1.1 100";
  evbuffer* output = bufferevent_get_output(bev_);
  char start[kContinue.size()];
  const ev_ssize_t size = evbuffer_copyout(output, start, sizeof start);
  if (size > 0 && kContinue.starts_with({start, static_cast<std::size_t>(size)})) return;
  refuse({.status = 400, .text = "the request is malformed"});
}

void Connection::refuse_next_request(http::Refusal refusal) {
  pending_refusal_ = std::move(refusal);
  set_deadline(kRequestGrace);
}

void Connection::handle(evhttp_request* request, std::function<void()> abort) {
  state_ = State::kHandling;
  request_ = request;
  abort_ = std::move(abort);
  event_del(deadline_.get());
  evhttp_request_set_on_complete_cb(
      request, [](evhttp_request*, void* self) { self_of(self)->on_replied(); }, this);
  // evhttp stops reading here, and would not detect that the client disconnects. So keep reading,
  // but remove evhttp's read callback, which must not be called now.
  bufferevent_data_cb on_write = nullptr;
  bufferevent_event_cb on_event = nullptr;
  void* argument = nullptr;
  bufferevent_getcb(bev_, nullptr, &on_write, &on_event, &argument);
  bufferevent_setcb(bev_, nullptr, on_write, on_event, argument);
  bufferevent_setwatermark(bev_, EV_READ, 0, kMaxAhead);
  bufferevent_enable(bev_, EV_READ);
}

void Connection::on_closed() {
  if (request_ != nullptr) {
    // If evhttp has removed the request from the connection, evhttp will not free the request, so
    // free it here.
    if (evhttp_request_get_connection(request_) == nullptr) evhttp_request_free(request_);
    request_ = nullptr;
  }
  if (const auto abort = std::exchange(abort_, nullptr)) abort();
  owner_.on_released(std::exchange(held_, 0));
  owner_.on_queued(*this, -static_cast<std::ptrdiff_t>(std::exchange(queued_, 0)));
  if (!is_evicted_ && (state_ == State::kHead || state_ == State::kBody)) {
    owner_.on_failed(
        *this, fmt::format("disconnected after {} bytes of an incomplete request", received_));
  }
  end_tls();
  owner_.on_gone(*this);
}

std::optional<base::SocketAddress> Connection::peer() const {
  if (proxied_) return proxied_;
  const sockaddr* address = evcon_ == nullptr ? nullptr : evhttp_connection_get_addr(evcon_);
  if (address == nullptr || address->sa_family == AF_UNIX) return std::nullopt;
  return base::SocketAddress::of(
      address, address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
}

std::string Connection::client() const {
  const auto address = peer();
  return address ? address->ip() : "local";
}

}  // namespace quarry::gateway
