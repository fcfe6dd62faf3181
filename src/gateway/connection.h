// One client's connection, beside evhttp: what evhttp does not watch over.
//
//   waiting ─> head ─> body ─> handling ─> sending ─> waiting …
//      │         │       │                    │
//      └─────────┴───────┴── refusing ────────┘ ─> lingering ─> gone
//
// evhttp parses requests, collects bodies, formats replies and keeps connections. This class adds,
// on the same bufferevent:
//   - the look at each head before evhttp gets it (request_head.h); until a head is whole, its
//   bytes
//     wait here, not in evhttp;
//   - deadlines for whole requests and replies, so that a client that sends a byte now and then
//     cannot stay for ever;
//   - the notice that a client has gone while its request is being worked on;
//   - refusals: a plain page instead of evhttp's HTML, then reading on for a while without keeping
//     anything, or the client would be reset before it has read the page.
//
// Depends on libevent 2.1: evhttp's connection is its bufferevent's callback argument, its read
// callback is harmless on an empty buffer, and its pages are written whole within one callback.
#pragma once

#include <event2/bufferevent.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "event_handles.h"
#include "quarry/base/socket.h"
#include "quarry/gateway/request_head.h"

namespace quarry::gateway {

/// A reply that the gateway makes of the pool's, or of its own.
struct Reply {
  int status = 200;
  std::string reason;
  std::vector<std::pair<std::string, std::string>> fields;
  /// What Content-Length says: of a HEAD request, of what is not sent.
  std::size_t content_length = 0;
  /// May be null.
  evbuffer* body = nullptr;
};

class Connection {
 public:
  struct Limits {
    std::size_t max_header;
    std::size_t max_body;
    std::chrono::milliseconds keepalive_timeout;
    std::chrono::milliseconds client_timeout;
    std::size_t min_rate;
  };

  class Owner {
   public:
    virtual ~Owner() = default;
    /// CONNECTION answers REFUSAL by itself.
    virtual void on_refused(Connection& connection, const Refusal& refusal) = 0;
    /// BYTES more are held for a request. False: that is too much.
    virtual bool on_held(std::size_t bytes) = 0;
    /// They are held no longer.
    virtual void on_released(std::size_t bytes) = 0;
    /// The client left in the middle of sending a request, RECEIVED bytes into it.
    virtual void on_cut_off(Connection& connection, std::size_t received) = 0;
    /// Whether connections end instead of waiting for a next request.
    virtual bool stopping() const = 0;
    /// The end of CONNECTION, whatever its state: the owner destroys it in here.
    virtual void on_gone(Connection& connection) = 0;
  };

  /// LIMITS and OWNER must outlive the connection. Use valid() next: without memory it is not.
  Connection(event_base* base, const Limits& limits, Owner& owner);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  bool valid() const { return bev_ != nullptr; }
  /// What evhttp is given when it asks for a bufferevent; evhttp frees it.
  bufferevent* bev() const { return bev_; }

  /// evhttp hands over REQUEST. ABORT is called when the client goes before reply(); REQUEST is
  /// gone then.
  void handle(evhttp_request* request, std::function<void()> abort);
  /// Answers the request that is being handled. LAST: the connection ends after it.
  void reply(const Reply& reply, bool last);
  /// The same in pieces: begin_reply() with a REPLY without a body, then its content_length bytes
  /// by add_to_reply(), which takes what is in BODY, then end_reply(). Until then ABORT is called
  /// when the client goes, and close() breaks the reply off. The connection may be gone after
  /// end_reply().
  void begin_reply(const Reply& reply, bool last);
  void add_to_reply(evbuffer* body);
  void end_reply();
  /// Sends what the socket takes of the reply now, which saves evhttp's turn of the loop. Only to
  /// be called when evhttp is not on the stack; the connection may be gone after it.
  void flush();

  /// Bytes of the largest request that came on it.
  std::size_t largest() const { return largest_; }
  /// Whether no request is under way.
  bool waiting() const { return state_ == State::kWaiting; }
  /// Ends the connection now; the object is destroyed.
  void close();
  /// Ends a waiting() connection, for a graceful stop: not while a request lies unread, and after a
  /// moment only where none has come yet, since who has just connected is about to send.
  void close_unless_used();

  /// The client's address; nothing for a Unix socket.
  std::optional<base::SocketAddress> peer() const;
  int descriptor() const { return bufferevent_getfd(bev_); }

 private:
  enum class State { kWaiting, kHead, kBody, kHandling, kSending, kRefusing, kLingering };

  void on_arrived();
  void on_input(std::size_t added);
  void on_output();
  void on_deadline();
  void on_woken();
  void on_replied();
  void on_closed();
  /// BYTES of a body have come.
  void hold(std::size_t bytes);
  /// Looks at what is in evhttp's input while a head is expected.
  void inspect();
  void refuse(Refusal refusal);
  bool is_refused() const { return refusal_.status != 0; }
  void take_over();
  void linger();
  /// Sets headers, and the time for SIZE bytes.
  void prepare_reply(const Reply& reply, bool last, std::size_t size);
  void set_deadline(std::chrono::milliseconds time);
  std::chrono::milliseconds time_for(std::size_t bytes) const;

  const Limits& limits_;
  Owner& owner_;
  bufferevent* bev_ = nullptr;
  evhttp_connection* evcon_ = nullptr;
  evhttp_request* request_ = nullptr;
  std::function<void()> abort_;
  State state_ = State::kWaiting;
  bool head_only_ = false;
  bool moving_ = false;
  /// Bytes of the present request; later: bytes thrown away.
  std::size_t received_ = 0;
  std::size_t largest_ = 0;
  /// Bytes that the owner counts as held for this connection.
  std::size_t held_ = 0;
  bool has_replied_ = false;
  std::chrono::steady_clock::time_point begun_;
  Buffer head_;
  Event deadline_;
  Event wake_;
  /// With status 0: none.
  Refusal refusal_{.status = 0, .text = {}};
};

}  // namespace quarry::gateway
