// A client's connection to the gateway.
//
//   waiting ─> head ─> body ─> handling ─> sending ─> waiting …
//      │         │       │                    │
//      └─────────┴───────┴── refusing ────────┘ ─> lingering ─> gone
//
// evhttp parses requests, collects bodies, formats replies and keeps connections alive. This class
// adds, on the same bufferevent:
//   - checks of each head before evhttp gets it (request_head.h); an incomplete head is buffered
//     here, not in evhttp;
//   - deadlines for whole requests and replies, so that a client cannot keep a connection open by
//     sending single bytes;
//   - skipping of empty lines before a request (RFC 9112, section 2.2);
//   - detection of clients that disconnect while their request is being handled;
//   - its rank among other connections, which is used if there are too many;
//   - refusals: a plain page instead of evhttp's HTML, after which input is discarded for a while,
//     because otherwise a TCP reset could prevent the client from reading the page.
//
// The class has more functions than others, because all of them act on the state above from a few
// callbacks of libevent. Smaller classes would have to query each other's state at every step.
//
// It depends on details of libevent 2.1: evhttp's connection is its bufferevent's callback
// argument, its read callback is harmless on an empty buffer, and its pages are written whole
// within one callback.
#pragma once

#include <event2/bufferevent.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "pace.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/socket.h"
#include "quarry/gateway/gateway_options.h"
#include "quarry/http/reply_header.h"
#include "quarry/http/request_head.h"

namespace quarry::gateway {

class Connection {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Called when CONNECTION is new and its peer() is known. The owner may refuse() it.
    virtual void on_arrived(Connection& connection) = 0;
    /// Called when CONNECTION itself replies with REFUSAL. IS_LOGGED is as in refuse().
    virtual void on_refused(Connection& connection, const http::Refusal& refusal,
                            bool is_logged) = 0;
    /// Called when BYTES more are buffered for the request on CONNECTION. The owner may refuse()
    /// it.
    virtual void on_held(Connection& connection, std::size_t bytes) = 0;
    /// Called when BYTES are no longer buffered.
    virtual void on_released(std::size_t bytes) = 0;
    /// Called when the number of buffered reply bytes changes by BYTES.
    virtual void on_queued(std::ptrdiff_t bytes) = 0;
    /// Called when a reply was sent on CONNECTION, which now waits for the next request.
    virtual void on_replied(Connection& connection) = 0;
    /// Returns whether connections are closed instead of waiting for the next request.
    virtual bool stopping() const = 0;
    /// Called when CONNECTION has ended, in any state. The owner destroys it in this call.
    virtual void on_gone(Connection& connection) = 0;
  };

  /// The rank of a connection that could be closed in favor of another.
  struct Rank {
    /// Whether it was refused and its input is discarded.
    bool is_refused;
    /// Whether it is idle between two requests.
    bool is_kept;
    /// Recent bytes per second of the current request or reply (pace.h); decreases while nothing
    /// arrives.
    double pace;
  };

  /// OPTIONS and OWNER must outlive the connection. The caller has to check valid(), which is false
  /// if memory was exhausted.
  Connection(event_base* base, const GatewayOptions& options, Owner& owner);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  bool valid() const { return bev_ != nullptr; }
  /// Returns the bufferevent for evhttp, which frees it.
  bufferevent* bev() const { return bev_; }

  /// Takes over REQUEST from evhttp. ABORT is called if the client disconnects before reply(); in
  /// that case REQUEST is no longer valid.
  void handle(evhttp_request* request, std::function<void()> abort);
  /// Answers the current request with HEADER and BODY. HEADER's content_length is that of the body,
  /// even if the body is not sent (HEAD). With LAST, the connection is closed after the reply.
  void reply(const http::ReplyHeader& header, evbuffer* body, bool last);
  /// Does the same in parts: call begin_reply(), then add_to_reply() for HEADER's content_length
  /// bytes, which drains BODY, then end_reply(). Until then, ABORT is called if the client
  /// disconnects, and close() aborts the reply. The connection may be destroyed in end_reply().
  void begin_reply(const http::ReplyHeader& header, bool last);
  void add_to_reply(evbuffer* body);
  void end_reply();
  /// Writes as much of the reply as possible now, which saves an iteration of the event loop. Must
  /// not be called from within evhttp. The connection may be destroyed in this call.
  void flush();

  /// Returns the size of the largest request so far in bytes.
  std::size_t largest() const { return largest_; }
  /// Returns the number of buffered bytes of an incomplete request.
  std::size_t buffered_body() const { return state_ == State::kBody ? held_ : 0; }
  /// Returns the number of buffered bytes of a reply.
  std::size_t unsent() const { return state_ == State::kSending ? queued_ : 0; }
  /// Returns whether there is no request in progress.
  bool waiting() const { return state_ == State::kWaiting; }
  /// Closes the connection now; the object is destroyed.
  void close();
  /// Closes a waiting() connection during a graceful stop, unless a request arrives within
  /// stop_grace. The client does not know about the stop and may be about to send one.
  void end_soon();
  /// Returns the connection's rank, or nullopt if the pool is handling its request or its client is
  /// fast enough.
  std::optional<Rank> rank() const;
  /// Closes the connection in favor of another one, although its client did nothing wrong.
  void evict();
  /// Answers a request that was not handled yet with REFUSAL, and then closes the connection.
  /// IS_LOGGED says whether to log the refusal; it is false if that was done already.
  void refuse(http::Refusal refusal, bool is_logged = true);

  /// Does the same, without a log line, for a connection without a request. It refuses as soon as
  /// the head has arrived, so that browsers get a page, or after a short time.
  void refuse_next_request(http::Refusal refusal);

  /// Returns the client's address, or nullopt for a Unix socket or before on_arrived().
  std::optional<base::SocketAddress> peer() const;
  /// Returns the same for the log, or "local" if there is no address.
  std::string client() const;
  int descriptor() const { return bufferevent_getfd(bev_); }
  /// Returns whether its last request came from a browser (http::wants_page()).
  bool wants_page() const { return asker_.wants_page; }
  /// Returns the first line of its last request, possibly truncated, or "" until the head has
  /// arrived.
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
  /// Counts BYTES of a body, which have arrived.
  void hold(std::size_t bytes);
  /// Checks evhttp's input while a head is expected.
  void inspect();
  /// Sets asker_ and first_line_ from HEAD, which may be incomplete.
  void note_request_line(std::string_view head);
  bool is_refused() const { return refusal_.status != 0; }
  bool has_pending_refusal() const { return pending_refusal_.status != 0; }
  void send_refusal();
  void linger();
  /// Removes empty lines from INPUT at the start of a head. Returns false if INPUT contains nothing
  /// else.
  bool skip_empty_lines(evbuffer* input);
  /// Sets the headers and the deadline of the reply.
  void prepare_reply(const http::ReplyHeader& header, bool last);
  /// Returns whether everything was sent to the client.
  bool has_sent_all() const;
  std::chrono::milliseconds age() const;
  /// Returns the time that is left if BYTES were transferred since started_.
  std::chrono::milliseconds time_left(std::size_t bytes) const;
  void set_deadline(std::chrono::milliseconds time);
  bool has_unread() const;
  std::chrono::milliseconds time_for(std::size_t bytes) const;

  const GatewayOptions& options_;
  Owner& owner_;
  bufferevent* bev_ = nullptr;
  evhttp_connection* evcon_ = nullptr;
  evhttp_request* request_ = nullptr;
  std::function<void()> abort_;
  State state_ = State::kWaiting;
  http::Asker asker_;  // of the last request, once its head has arrived
  std::string first_line_;
  bool moving_ = false;
  /// Received bytes of the current request; after a refusal, the discarded bytes.
  std::size_t received_ = 0;
  std::size_t largest_ = 0;
  /// Bytes that the owner counts as buffered for this connection.
  std::size_t held_ = 0;
  bool has_replied_ = false;
  bool is_evicted_ = false;
  /// Bytes of the current reply that have been sent.
  std::size_t sent_ = 0;
  /// Bytes of the current reply that are still buffered.
  std::size_t queued_ = 0;
  /// Time of the first byte of the current request, or of the start of its reply.
  std::chrono::steady_clock::time_point started_;
  Pace pace_;
  base::EventBufferPtr head_;
  base::EventPtr deadline_;
  base::EventPtr wake_;
  /// Status 0 means that there is no refusal.
  http::Refusal refusal_{.status = 0, .text = {}};
  bool is_logged_ = true;
  /// The refusal of refuse_next_request(); status 0 means that there is none.
  http::Refusal pending_refusal_{.status = 0, .text = {}};
};

}  // namespace quarry::gateway
