#include "server.h"

#include <event2/http_struct.h>
#include <fmt/core.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "page_route.h"
#include "quarry/base/log.h"
#include "quarry/base/log_request.h"
#include "quarry/base/url.h"
#include "quarry/http/reply_header.h"
#include "quarry/http/request_id.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"

namespace quarry::gateway {
namespace {

using base::LogLevel;

constexpr std::size_t kMaxReplyHeader = std::size_t{64} << 10;
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::size_t kMaxTargetInLog = 200;
// Number of buffered bytes of a connection after whose end memory is returned to the system: the
// bytes consist of many small pieces, which the allocator would otherwise keep.
constexpr std::size_t kLarge = std::size_t{32} << 10;
// libevent frees some buffers only after the connection has been closed.
constexpr std::chrono::milliseconds kTrimDelay{100};
// If more than kMaxOfPage bytes of a page are buffered, reading from the page server pauses. If at
// most kFewOfPage bytes are left, reading resumes.
constexpr std::size_t kMaxOfPage = std::size_t{64} << 10;
constexpr std::size_t kFewOfPage = std::size_t{32} << 10;
constexpr std::string_view kTooLong = "it sent more than its Content-Length";

struct ReplyStart {
  http::ReplyHeader header;
  std::size_t size;  // in bytes
};

/// Parses the header block at the start of REPLY without removing it.
Result<ReplyStart> start_of(evbuffer* reply) {
  const std::size_t looked_at = std::min(evbuffer_get_length(reply), kMaxReplyHeader);
  const auto* start =
      reinterpret_cast<const char*>(evbuffer_pullup(reply, static_cast<ev_ssize_t>(looked_at)));
  const std::string_view bytes(start, start == nullptr ? 0 : looked_at);
  const std::size_t size = http::header_block_size(bytes);
  if (size == std::string_view::npos) {
    return fail(ErrorCode::kInvalid, "its headers are incomplete");
  }
  QUARRY_TRY_ASSIGN(http::ReplyHeader header, http::parse_reply_header(bytes.substr(0, size)));
  return ReplyStart{std::move(header), size};
}

}  // namespace

Server::Server(event_base* base, const GatewayOptions& options)
    : base_(base),
      options_(options),
      accept_pause_(base, -1, 0,
                    [this] {
                      is_paused_ = false;
                      update_listening();
                    }),
      trim_(base, -1, 0, [] { ::malloc_trim(0); }),
      bounds_(base, options, exchanges_, [this] { update_listening(); }),
      turns_(options.max_handled_per_address) {}

Server::~Server() {
  listeners_.clear();  // evhttp frees the listeners
  // Free evhttp before the other members, because it aborts in-flight requests, and on_gone() then
  // uses these members.
  fronts_.clear();
  exchanges_.clear();
}

Result<void> Server::start() {
  of_process_ = this;
  if (!accept_pause_ || !trim_) return fail(ErrorCode::kIo, "cannot create the HTTP server");
  if (const auto loaded = tls_.load(options_.certificates); !loaded) {
    return fail(loaded.error().code, "cannot use a certificate: " + loaded.error().message);
  }
  // Close the memory files with the keys, because only this process needs them.
  for (const int descriptor : options_.certificates) ::close(descriptor);
  fronts_.reserve(options_.listeners.size());
  for (const FrontSocket& socket : options_.listeners) {
    QUARRY_TRY(listen(fronts_.emplace_back(Front{this, &socket, base::HttpServerPtr()})));
  }
  return {};
}

Result<void> Server::listen(Front& front) {
  front.http.reset(evhttp_new(base_));
  evhttp* const http = front.http.get();
  if (http == nullptr) return fail(ErrorCode::kIo, "cannot create the HTTP server");
  // Allow all methods here. request_head.cc refuses unsupported methods with plain text, but evhttp
  // would send an HTML page.
  evhttp_set_allowed_methods(http, 0xffff);
  evhttp_set_default_content_type(http, nullptr);
  evhttp_set_max_headers_size(http, static_cast<ev_ssize_t>(options_.max_header));
  evhttp_set_max_body_size(http, static_cast<ev_ssize_t>(options_.max_body));
  evhttp_set_bevcb(
      http,
      [](event_base*, void* argument) {
        const auto* const self = static_cast<Front*>(argument);
        return self->server->make_connection(*self->socket);
      },
      &front);
  evhttp_set_gencb(
      http,
      [](evhttp_request* request, void* argument) {
        static_cast<Front*>(argument)->server->on_request(request);
      },
      &front);
  evconnlistener* listener = evconnlistener_new(base_, nullptr, nullptr, LEV_OPT_CLOSE_ON_EXEC, 0,
                                                front.socket->descriptor);
  if (listener == nullptr || evhttp_bind_listener(http, listener) == nullptr) {
    if (listener != nullptr) evconnlistener_free(listener);
    return fail_errno("cannot accept connections on the listening socket");
  }
  // The callback cannot get this server as its argument, because evhttp_bind_listener() has set the
  // argument.
  evconnlistener_set_error_cb(listener,
                              [](evconnlistener*, void*) { of_process_->on_accept_failed(); });
  listeners_.push_back(listener);
  return {};
}

void Server::stop() {
  if (std::exchange(stopping_, true)) return;
  update_listening();
  for (const auto& [bev, exchange] : exchanges_) {
    if (exchange.connection->waiting()) exchange.connection->end_soon();
  }
  if (exchanges_.empty()) event_base_loopbreak(base_);
}

void Server::update_listening() {
  const bool listen = !stopping_ && !is_paused_ && bounds_.has_room();
  if (std::exchange(listening_, listen) == listen) return;
  for (evconnlistener* listener : listeners_) {
    if (listen) {
      evconnlistener_enable(listener);
    } else {
      evconnlistener_disable(listener);
    }
  }
}

void Server::on_accept_failed() {
  // Probably too many descriptors are open. Stop listening for a while: the connection stays in the
  // backlog, so the event loop would report it continuously.
  base::log(LogLevel::kError, "cannot accept a connection: {}", std::strerror(errno));
  is_paused_ = true;
  accept_pause_.wait(kAcceptPause);
  update_listening();
}

bufferevent* Server::make_connection(const FrontSocket& socket) {
  Connection::Owner& owner = *this;
  TlsSessionPtr tls = socket.is_tls ? tls_.new_session() : nullptr;
  if (socket.is_tls && !tls) return nullptr;
  auto connection = std::make_unique<Connection>(base_, options_, socket, owner, std::move(tls));
  if (!connection->valid()) return nullptr;
  bufferevent* bev = connection->bev();
  exchanges_[bev].connection = std::move(connection);
  update_listening();
  return bev;
}

void Server::on_gone(Connection& connection) {
  if (connection.largest() >= kLarge) trim_.wait(kTrimDelay);
  exchanges_.erase(connection.bev());
  update_listening();
  if (stopping_ && exchanges_.empty()) event_base_loopbreak(base_);
}

void Server::on_arrived(Connection& connection) {
  bounds_.arrived(connection, exchanges_.at(connection.bev()).registration);
  update_listening();
}

void Server::on_replied(Connection& connection) {
  bounds_.replied(exchanges_.at(connection.bev()));
}

void Server::on_queued(Connection& connection, std::ptrdiff_t bytes) {
  bounds_.queued(bytes);
  if (bytes >= 0 || connection.unsent() > kFewOfPage) return;
  const auto found = exchanges_.find(connection.bev());
  if (found != exchanges_.end() && found->second.call) found->second.call->resume();
}

void Server::on_held(Connection& connection, std::size_t bytes) {
  held_ += bytes;
  if (held_ <= options_.max_bodies) return;
  // Refuse the largest incomplete request. If the newest request were refused, a slow sender of a
  // large body could cause the refusal of all other requests.
  Connection* largest = &connection;
  for (const auto& [bev, exchange] : exchanges_) {
    Connection* const other = exchange.connection.get();
    if (other->buffered_body() > largest->buffered_body()) largest = other;
  }
  largest->refuse(
      {.status = 503, .text = "too many large requests at the same time: try again later"});
}

void Server::on_request(evhttp_request* request) {
  bufferevent* bev = evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
  const auto found = exchanges_.find(bev);
  // If memory is exhausted, evhttp creates its own bufferevent, for which there is no Connection.
  // Answer with 503.
  if (found == exchanges_.end()) return evhttp_send_error(request, 503, nullptr);
  begin(found->second, request);
}

void Server::begin(Exchange& exchange, evhttp_request* request) {
  Connection& connection = *exchange.connection;
  connection.handle(request, [&exchange] {
    exchange.call.reset();
    exchange.turn.leave();
  });
  const std::string target = base::without_secrets(evhttp_request_get_uri(request));
  exchange.request =
      fmt::format("{} {}", method_name(*request), base::printable(target, kMaxTargetInLog));
  const auto peer = connection.peer();
  exchange.client =
      peer ? client_of(*peer, *evhttp_request_get_input_headers(request), options_.trusted_proxies)
           : Client{.address = "127.0.0.1", .port = 0, .through_proxy = false};
  exchange.id = request_id(*evhttp_request_get_input_headers(request), exchange.client);
  if (bounds_.exceeds_address_limit(exchange)) {
    return answer_page(exchange, 503, "too many requests from your address");
  }
  if (connection.socket().redirects &&
      !is_https(*evhttp_request_get_input_headers(request), exchange.client, false)) {
    return redirect(exchange, *request);
  }
  evbuffer* body = evhttp_request_get_input_buffer(request);
  const auto params = params_of(*request, exchange.client, exchange.id,
                                {.port = connection.socket().port, .is_tls = connection.is_tls()});
  if (!params) return answer_error(exchange, 400, params.error().message, "");
  base::EventBufferPtr bytes(evbuffer_new());
  if (!bytes || !append_request(bytes.get(), *params, body)) {
    return answer_error(exchange, 503, "out of memory", "");
  }
  const FastcgiCall::Destination destination = destination_of(*request);
  exchange.call = std::make_unique<FastcgiCall>(
      base_, destination, options_, std::move(bytes), [this, &exchange] { on_part(exchange); },
      [this, &exchange](FastcgiCall::Outcome outcome) { on_call_done(exchange, outcome); });
  FastcgiCall* const call = exchange.call.get();
  if (destination.address == nullptr || !is_limited(exchange)) return call->start();
  exchange.turn = turns_.enter(exchange.client.address, [call] { call->start(); });
}

/// Returns whether the number of requests from the address of EXCHANGE's client is limited.
bool Server::is_limited(const Exchange& exchange) const {
  return options_.max_handled_per_address != 0 &&
         (exchange.registration.of_address() > 0 || exchange.request_registration.of_address() > 0);
}

void Server::redirect(Exchange& exchange, evhttp_request& request) {
  const auto tls = std::ranges::find_if(options_.listeners, &FrontSocket::is_tls);
  const std::uint16_t port = tls == options_.listeners.end() ? 0 : tls->port;
  auto url = https_url(request, port);
  if (!url) return answer_error(exchange, 400, url.error().message, "");
  // Use 308 for a POST, because clients repeat a POST as a GET after 301.
  const int status = method_name(request) == "POST" ? 308 : 301;
  exchange.connection->reply(
      {.status = status,
       .reason = std::string(http::reason_phrase(status)),
       .fields = {{"Location", *std::move(url)}, {http::kRequestIdHeader, exchange.id}},
       .content_length = 0},
      nullptr, stopping_);
}

FastcgiCall::Destination Server::destination_of(const evhttp_request& request) const {
  const FastcgiCall::Destination to_pool{.address = &*options_.pool};
  if (options_.pages_passing < 0) return to_pool;
  const auto path =
      http::percent_decode(evhttp_uri_get_path(evhttp_request_get_evhttp_uri(&request)));
  const char* const type = evhttp_find_header(
      evhttp_request_get_input_headers(const_cast<evhttp_request*>(&request)), "Content-Type");
  const bool is_page = path && !(options_.has_folders && path->ends_with('/')) &&
                       std::ranges::find(options_.pool_paths, *path) == options_.pool_paths.end() &&
                       is_certainly_page(method_name(request), *path, type == nullptr ? "" : type);
  return is_page ? FastcgiCall::Destination{.passing = options_.pages_passing} : to_pool;
}

void Server::on_part(Exchange& exchange) {
  if (!exchange.left && !begin_reply(exchange)) return;
  if (!forward_part(exchange)) return break_off(exchange, kTooLong);
  if (exchange.connection->unsent() > kMaxOfPage) exchange.call->pause();
  exchange.connection->flush();
  bounds_.limit_replies();
}

bool Server::begin_reply(Exchange& exchange) {
  evbuffer* body = exchange.call->reply();
  // Wait until a small reply is complete. If the reply is malformed, the client can then get an
  // error page.
  if (evbuffer_get_length(body) <= kMaxReplyHeader) return false;
  // If the header has an error or no Content-Length, wait until the reply is complete. forward()
  // then handles the reply.
  auto start = start_of(body);
  if (!start || !start->header.content_length) return false;
  const std::uint64_t length = *start->header.content_length;
  if (length > options_.max_reply - start->size) return false;
  evbuffer_drain(body, start->size);
  exchange.left = length;
  exchange.connection->begin_reply(start->header, stopping_);
  return true;
}

bool Server::forward_part(Exchange& exchange) {
  evbuffer* body = exchange.call->reply();
  const std::size_t size = evbuffer_get_length(body);
  if (size > *exchange.left) return false;
  *exchange.left -= size;
  exchange.connection->add_to_reply(body);
  return true;
}

void Server::on_call_done(Exchange& exchange, FastcgiCall::Outcome outcome) {
  exchange.turn.leave();
  if (!exchange.call->error_output().empty()) {
    const base::LogRequest logged(exchange.id);
    base::log(LogLevel::kWarning, "client {}: {}: standard error of the pool: {}",
              exchange.client.address, exchange.request,
              base::printable(exchange.call->error_output(), 1024));
  }
  if (exchange.left) {
    if (outcome != FastcgiCall::Outcome::kReplied) {
      return break_off(exchange, exchange.call->error());
    }
    if (!forward_part(exchange)) return break_off(exchange, kTooLong);
    if (*exchange.left != 0) return break_off(exchange, "it sent less than its Content-Length");
    exchange.left.reset();
    exchange.call.reset();
    // Do not use EXCHANGE after this call, which might destroy the connection and the exchange.
    exchange.connection->end_reply();
    return bounds_.limit_replies();
  }
  const auto call = std::move(exchange.call);
  forward(exchange, *call, outcome);
  exchange.connection->flush();
  bounds_.limit_replies();
}

void Server::break_off(Exchange& exchange, std::string_view reason) {
  const base::LogRequest logged(exchange.id);
  base::log(LogLevel::kWarning, "client {}: {}: reply aborted: {}", exchange.client.address,
            exchange.request, reason);
  exchange.connection->close();
}

void Server::forward(Exchange& exchange, FastcgiCall& call, FastcgiCall::Outcome outcome) {
  switch (outcome) {
    case FastcgiCall::Outcome::kReplied:
      return forward_reply(exchange, call);
    case FastcgiCall::Outcome::kUnreachable:
      return answer_error(exchange, 502, "the pool cannot be reached", call.error());
    case FastcgiCall::Outcome::kBadReply:
      return answer_error(exchange, 502, "the pool sent an invalid reply", call.error());
    case FastcgiCall::Outcome::kTimeout:
      return answer_error(exchange, 504, "the pool did not reply in time", call.error());
  }
}

void Server::forward_reply(Exchange& exchange, FastcgiCall& call) {
  constexpr std::string_view kText = "the pool sent an invalid reply";
  evbuffer* body = call.reply();
  auto start = start_of(body);
  if (!start) return answer_error(exchange, 502, kText, base::printable(start.error().message));
  evbuffer_drain(body, start->size);
  http::ReplyHeader& header = start->header;
  const std::size_t length = evbuffer_get_length(body);
  const std::uint64_t declared = header.content_length.value_or(length);
  // A reply to HEAD declares the length of the body without sending the body.
  if (declared != length && !(length == 0 && exchange.request.starts_with("HEAD "))) {
    return answer_error(
        exchange, 502, kText,
        fmt::format("its Content-Length is {}, but it sent {} bytes", declared, length));
  }
  header.content_length = declared;
  exchange.connection->reply(header, body, stopping_);
}

}  // namespace quarry::gateway
