// One client's connection, beside evhttp: what evhttp does not watch over.
//
//   waiting ─> head ─> body ─> handling ─> sending ─> waiting …
//      │         │       │                    │
//      └─────────┴───────┴── refusing ────────┘ ─> lingering ─> gone
//
// evhttp parses requests, collects bodies, formats replies and keeps connections. This class adds,
// on the same bufferevent:
//   - the look at each head before evhttp gets it (request_head.h); until a head is whole, its
//     bytes wait here, not in evhttp;
//   - deadlines for whole requests and replies, so that a client that sends a byte now and then
//     cannot stay for ever;
//   - empty lines before a request, which are passed over (RFC 9112, section 2.2);
//   - the notice that a client has gone while its request is being worked on;
//   - how it stands beside others, for when there are more clients than places;
//   - refusals: a plain page instead of evhttp's HTML, then reading on for a while without keeping
//     anything, or the client would be reset before it has read the page.
//
// It has more functions than other classes: all of them act on the one state above, from a handful
// of libevent's callbacks. Parts of it would have to ask each other for that state at every step.
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

#include "pace.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/socket.h"
#include "quarry/http/request_head.h"

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
    std::chrono::milliseconds stop_grace;
    std::size_t min_rate;
  };

  class Owner {
   public:
    virtual ~Owner() = default;
    /// CONNECTION is there, with its peer(). The owner may refuse() it.
    virtual void on_arrived(Connection& connection) = 0;
    /// CONNECTION answers REFUSAL by itself. IS_LOGGED: as refuse() was told.
    virtual void on_refused(Connection& connection, const http::Refusal& refusal,
                            bool is_logged) = 0;
    /// BYTES more are held for the request that comes on CONNECTION. The owner may refuse() it.
    virtual void on_held(Connection& connection, std::size_t bytes) = 0;
    /// They are held no longer.
    virtual void on_released(std::size_t bytes) = 0;
    /// BYTES more of replies, or fewer, are held until their clients take them.
    virtual void on_queued(std::ptrdiff_t bytes) = 0;
    /// The client left in the middle of sending a request, RECEIVED bytes into it.
    virtual void on_cut_off(Connection& connection, std::size_t received) = 0;
    /// The client does not take its reply, of which LEFT bytes are there; it is closed for that.
    virtual void on_not_taken(Connection& connection, std::size_t left) = 0;
    /// A reply has gone out on CONNECTION, which waits for a next request.
    virtual void on_replied(Connection& connection) = 0;
    /// Whether connections end instead of waiting for a next request.
    virtual bool stopping() const = 0;
    /// The end of CONNECTION, whatever its state: the owner destroys it in here.
    virtual void on_gone(Connection& connection) = 0;
  };

  /// How a connection stands that could give way to another.
  struct Standing {
    /// It has its refusal, and is only read on.
    bool is_refused;
    /// It is between two requests.
    bool is_kept;
    /// Bytes a second that its client has moved lately of the present request or reply (pace.h):
    /// the longer nothing comes, the less.
    double pace;
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
  /// Bytes that are held of a request that is not all there yet.
  std::size_t gathered() const { return state_ == State::kBody ? held_ : 0; }
  /// Bytes of a reply that are held until the client takes them.
  std::size_t untaken() const { return state_ == State::kSending ? queued_ : 0; }
  /// Whether no request is under way.
  bool waiting() const { return state_ == State::kWaiting; }
  /// Ends the connection now; the object is destroyed.
  void close();
  /// Ends a waiting() connection, for a graceful stop, unless a request comes within stop_grace:
  /// its client knows nothing of the stop, and may be about to send one.
  void end_soon();
  /// Nothing where the pool has its request, or its client keeps up.
  std::optional<Standing> standing() const;
  /// Ends it for another to have its place: close(), though its client did nothing wrong.
  void give_way();
  /// Answers with REFUSAL, as the last thing, what has not been handled. IS_LOGGED: the log
  /// is to have it; else it has been told already.
  void refuse(http::Refusal refusal, bool is_logged = true);

  /// The same, not logged, of a connection on which nothing has come yet: as soon as it is known who
  /// asks, so that a browser has a page, or after a moment.
  void refuse_once_asked(http::Refusal refusal);

  /// The client's address; nothing for a Unix socket, or before on_arrived().
  std::optional<base::SocketAddress> peer() const;
  /// The same for the log, "local" where there is none.
  std::string client() const;
  int descriptor() const { return bufferevent_getfd(bev_); }
  /// Whether its last request is a browser's (http::wants_page()).
  bool wants_page() const { return asker_.wants_page; }
  /// How its last request begins: at most a line, and that may be cut; "" until its head is there.
  std::string_view first_line() const { return first_line_; }

 private:
  enum class State { kWaiting, kHead, kBody, kHandling, kSending, kRefusing, kLingering };

  void on_arrived();
  void on_input(std::size_t added);
  void on_output(const evbuffer_cb_info& info);
  void on_deadline();
  void on_woken();
  void on_replied();
  void on_closed();
  /// BYTES of a body have come.
  void hold(std::size_t bytes);
  /// Looks at what is in evhttp's input while a head is expected.
  void inspect();
  /// Who asks for what, in HEAD or as much as there is of it.
  void look_at(std::string_view head);
  bool is_refused() const { return refusal_.status != 0; }
  bool is_to_be_refused() const { return coming_refusal_.status != 0; }
  void take_over();
  void linger();
  /// Takes empty lines off INPUT, which holds what there is of a head. False: nothing else came.
  bool pass_over_empty_lines(evbuffer* input);
  /// Sets headers, and the time for the reply to go out.
  void prepare_reply(const Reply& reply, bool last);
  /// Whether the client has taken all that there is for it.
  bool has_taken_all() const;
  std::chrono::milliseconds age() const;
  /// What is left at a deadline of the time for BYTES that have moved since begun_.
  std::chrono::milliseconds time_left(std::size_t bytes) const;
  void set_deadline(std::chrono::milliseconds time);
  bool has_unread() const;
  std::chrono::milliseconds time_for(std::size_t bytes) const;

  const Limits& limits_;
  Owner& owner_;
  bufferevent* bev_ = nullptr;
  evhttp_connection* evcon_ = nullptr;
  evhttp_request* request_ = nullptr;
  std::function<void()> abort_;
  State state_ = State::kWaiting;
  http::Asker asker_;  // of the last request, as soon as its head is there
  std::string first_line_;
  bool moving_ = false;
  /// Bytes of the present request; later: bytes thrown away.
  std::size_t received_ = 0;
  std::size_t largest_ = 0;
  /// Bytes that the owner counts as held for this connection.
  std::size_t held_ = 0;
  bool has_replied_ = false;
  bool is_giving_way_ = false;
  /// Bytes of the present reply that the socket has taken.
  std::size_t sent_ = 0;
  /// Bytes that it has not taken.
  std::size_t queued_ = 0;
  /// When the present request, with its first byte, or its reply began.
  std::chrono::steady_clock::time_point begun_;
  Pace pace_;
  base::EventBufferPtr head_;
  base::EventPtr deadline_;
  base::EventPtr wake_;
  /// With status 0: none.
  http::Refusal refusal_{.status = 0, .text = {}};
  bool is_logged_ = true;
  /// To be refuse()d with; status 0: with nothing.
  http::Refusal coming_refusal_{.status = 0, .text = {}};
};

}  // namespace quarry::gateway
