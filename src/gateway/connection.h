// A client's connection to the gateway.
//
//   proxy header ─> handshake ─> waiting ─> head ─> body ─> handling ─> sending ─> waiting …
//                                   │         │       │                    │
//                                   └─────────┴───────┴── refusing ────────┘ ─> lingering ─> gone
//
// evhttp parses requests, collects bodies, formats replies and keeps connections alive. On the same
// bufferevent, this class adds:
//   - checks of each head before evhttp reads it (request_head.h); an incomplete head is buffered
//     here, not in evhttp;
//   - deadlines for whole requests and replies, so that a client cannot keep a connection open by
//     sending single bytes;
//   - skipping of empty lines before a request (RFC 9112, section 2.2);
//   - detection of clients that disconnect while their request is being handled;
//   - a rank, which determines the connection to close if there are too many connections;
//   - refusals: a plain page instead of evhttp's HTML. After the page is sent, input is discarded
//     for a while, because a TCP reset could otherwise prevent the client from reading the page;
//   - decoding of chunked bodies (connection_chunked.cc), so that evhttp sees a Content-Length;
//   - the PROXY header of a trusted proxy (connection_proxy.cc);
//   - the TLS handshake (connection_tls.cc), with a deadline and a log line if it fails.
//
// The class has many functions, because all of them depend on the current state (see above).
//
// The class depends on details of libevent 2.1: the callbacks of the bufferevent get evhttp's
// connection as their argument; evhttp's read callback is harmless on an empty buffer; and evhttp
// writes a whole page within one callback.
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
#include "quarry/http/chunked_body.h"
#include "quarry/http/reply_header.h"
#include "quarry/http/request_head.h"
#include "tls_context.h"

namespace quarry::gateway {

class Connection {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Called for a new CONNECTION when its peer() is known. The owner can refuse() the connection.
    virtual void on_arrived(Connection& connection) = 0;
    /// Called when CONNECTION ends before its first request, during a request that is still
    /// incomplete, or because the client does not read its reply. REASON is for the log.
    virtual void on_failed(const Connection& connection, std::string_view reason) = 0;
    /// Called when CONNECTION itself replies with REFUSAL. IS_LOGGED is the same as for refuse().
    virtual void on_refused(Connection& connection, const http::Refusal& refusal,
                            bool is_logged) = 0;
    /// Called when BYTES additional bytes of the request on CONNECTION are buffered. The owner can
    /// refuse() the connection.
    virtual void on_held(Connection& connection, std::size_t bytes) = 0;
    /// Called when BYTES bytes are no longer buffered.
    virtual void on_released(std::size_t bytes) = 0;
    /// Called when the number of reply bytes buffered for CONNECTION changes by BYTES.
    virtual void on_queued(Connection& connection, std::ptrdiff_t bytes) = 0;
    /// Called after a reply was sent on CONNECTION. CONNECTION then waits for the next request.
    virtual void on_replied(Connection& connection) = 0;
    /// Returns whether connections are closed after a reply.
    virtual bool stopping() const = 0;
    /// Called when CONNECTION has ended, in any state. The owner has to destroy CONNECTION in this
    /// call.
    virtual void on_gone(Connection& connection) = 0;
  };

  /// The values that determine which connection is closed in favor of another one.
  struct Rank {
    /// Whether the connection was refused and its input is discarded.
    bool is_refused;
    /// Whether the connection is idle between two requests.
    bool is_kept;
    /// Recent bytes per second of the current request or reply (pace.h). Decreases while no bytes
    /// arrive.
    double pace;
  };

  /// Creates a connection. OPTIONS and OWNER must outlive this object. TLS is the server's side of
  /// a TLS connection, or null. SOCKET is the listening socket of the connection, and must outlive
  /// this object. The caller has to check valid(), because memory might be exhausted.
  Connection(event_base* base, const GatewayOptions& options, const FrontSocket& socket,
             Owner& owner, TlsSessionPtr tls);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  bool valid() const { return bev_ != nullptr; }
  /// Returns the bufferevent for evhttp, which frees it.
  bufferevent* bev() const { return bev_; }

  /// Takes over REQUEST from evhttp. Calls ABORT if the client disconnects before reply(); REQUEST
  /// is then not valid any more.
  void handle(evhttp_request* request, std::function<void()> abort);
  /// Answers the current request with HEADER and BODY. HEADER's content_length is the length of the
  /// body, even if the body is not sent (HEAD). If LAST, the connection is closed after the reply.
  void reply(const http::ReplyHeader& header, evbuffer* body, bool last);
  /// Answers the current request in parts. The caller calls begin_reply(), then add_to_reply()
  /// until HEADER's content_length bytes are added, then end_reply(). add_to_reply() drains BODY.
  /// If the client disconnects before end_reply(), ABORT of handle() is called. close() before
  /// end_reply() aborts the reply. end_reply() might destroy the connection.
  void begin_reply(const http::ReplyHeader& header, bool last);
  void add_to_reply(evbuffer* body);
  void end_reply();
  /// Writes as much of the reply as possible, to save an iteration of the event loop. Must not be
  /// called from within evhttp. The call might destroy the connection.
  void flush();

  /// Returns the maximum number of bytes of a request or reply that were buffered so far.
  std::size_t largest() const { return largest_; }
  /// Returns the number of buffered bytes of an incomplete request.
  std::size_t buffered_body() const { return state_ == State::kBody ? held_ : 0; }
  /// Returns the number of buffered bytes of a reply.
  std::size_t unsent() const { return state_ == State::kSending ? queued_ : 0; }
  /// Returns whether the connection is idle, without a request or reply.
  bool waiting() const { return state_ <= State::kWaiting; }
  bool is_tls() const { return tls_ != nullptr; }
  /// Returns the listening socket.
  const FrontSocket& socket() const { return socket_; }
  /// Closes the connection now and destroys the object.
  void close();
  /// Closes a waiting() connection during a graceful stop. Still accepts a request within
  /// stop_grace, because the client might already be sending it.
  void end_soon();
  /// Returns the connection's rank. Returns nullopt if the connection must not be closed in favor
  /// of another one: the pool is handling its request, or its client is fast enough.
  std::optional<Rank> rank() const;
  /// Closes the connection in favor of another one, although its client has not done anything
  /// wrong.
  void evict();
  /// Answers a request that is not handled yet with REFUSAL, and then closes the connection. If
  /// IS_LOGGED is false, the caller has already logged the refusal.
  void refuse(http::Refusal refusal, bool is_logged = true);

  /// For a connection without a request: refuses its next request with REFUSAL, without a log line.
  /// The refusal is sent when the head of the request has arrived, so that browsers get a page. If
  /// no head arrives within a short time, the refusal is sent anyway.
  void refuse_next_request(http::Refusal refusal);

  /// Returns the client's address, or nullopt for a Unix socket or before on_arrived(). If there is
  /// a PROXY header, the result is the address in it.
  std::optional<base::SocketAddress> peer() const;
  /// Returns the client's address for the log, or "local" if peer() is nullopt.
  std::string client() const;
  int descriptor() const { return bufferevent_getfd(bev_); }
  /// Returns whether the last request came from a browser (http::wants_page()).
  bool wants_page() const { return asker_.wants_page; }
  /// Returns the id of a refused request.
  const std::string& request_id() const { return asker_.request_id; }
  /// Returns the first line of the last request, possibly truncated, or "" before the head has
  /// arrived.
  std::string_view first_line() const { return first_line_; }

 private:
  enum class State {
    kProxyHeader,
    kHandshake,
    kWaiting,
    kHead,
    kBody,
    kHandling,
    kSending,
    kRefusing,
    kLingering
  };
  /// The callbacks that evhttp has set on the bufferevent.
  struct Callbacks {
    bufferevent_data_cb read = nullptr;
    bufferevent_data_cb write = nullptr;
    bufferevent_event_cb event = nullptr;
  };

  void on_arrived();
  void begin_proxy_header();
  void on_proxy_header();
  /// Gives the socket back to the bufferevent, which reads the bytes after the PROXY header.
  void end_proxy_header();
  /// Begins the handshake or the first request, after the client's address is known.
  void begin();
  void begin_handshake();
  void on_handshake(short what);
  void on_handshake_failed();
  /// Replies to a plain HTTP request on a TLS connection.
  void refuse_plain_http();
  /// Writes OUTPUT in full records, until the socket is full. libevent would write a separate
  /// record for each piece of OUTPUT.
  void write_tls(evbuffer* output);
  /// Sends the end of the TLS connection (close_notify).
  void end_tls();
  /// Sets the deadline of the first request.
  void wait_for_request();
  void on_input(std::size_t added);
  void on_output(const evbuffer_cb_info& info);
  void on_deadline();
  void on_woken();
  void on_replied();
  void on_closed();
  /// Counts BYTES of a body that have arrived.
  void hold(std::size_t bytes);
  /// Checks evhttp's input while a head is expected.
  void inspect();
  /// Decodes a request with a chunked body before evhttp reads it. HEAD is at the start of evhttp's
  /// input.
  void begin_chunked(http::ChunkedHead head, std::size_t size);
  void decode_chunks();
  /// Passes the request with the decoded body to evhttp.
  void end_chunked();
  /// Sets asker_ and first_line_ from HEAD. HEAD can be incomplete.
  void note_request_line(std::string_view head);
  bool is_refused() const { return refusal_.status != 0; }
  bool has_pending_refusal() const { return pending_refusal_.status != 0; }
  void send_refusal();
  void linger();
  /// Removes empty lines from INPUT at the start of a head. Returns false if INPUT is then empty.
  bool skip_empty_lines(evbuffer* input);
  /// Sets the headers and the deadline of the reply.
  void prepare_reply(const http::ReplyHeader& header, bool last);
  /// Returns whether all bytes were sent to the client.
  bool has_sent_all() const;
  /// Returns the number of bytes of the current reply that the client has acknowledged. Bytes that
  /// the kernel has accepted do not show that the client reads.
  std::size_t acknowledged() const;
  std::chrono::milliseconds age() const;
  /// Returns the time until the deadline. BYTES, the number of bytes transferred since started_,
  /// extends the deadline.
  std::chrono::milliseconds time_left(std::size_t bytes) const;
  void set_deadline(std::chrono::milliseconds time);
  bool has_unread() const;
  std::chrono::milliseconds time_for(std::size_t bytes) const;

  /// A request whose body is still being decoded.
  struct ChunkedRequest {
    http::ChunkedHead head;
    http::ChunkedBody decoder;
    base::EventBufferPtr body;
  };

  const GatewayOptions& options_;
  const FrontSocket& socket_;
  Owner& owner_;
  bufferevent* bev_ = nullptr;
  SSL* tls_ = nullptr;          // owned by bev_
  Callbacks evhttp_callbacks_;  // during the handshake
  int proxied_socket_ = -1;
  std::string proxy_header_;                    // the incomplete PROXY header
  base::EventPtr proxy_readable_;               // while the PROXY header is incomplete
  std::optional<base::SocketAddress> proxied_;  // the client that the PROXY header names
  evhttp_connection* evcon_ = nullptr;
  evhttp_request* request_ = nullptr;
  std::function<void()> abort_;
  State state_ = State::kWaiting;
  http::Asker asker_;  // of the last request whose head has arrived
  std::string first_line_;
  bool moving_ = false;
  /// Received bytes of the current request; after a refusal, the discarded bytes.
  std::size_t received_ = 0;
  std::size_t largest_ = 0;
  /// Number of bytes that the owner counts as buffered for this connection.
  std::size_t held_ = 0;
  bool has_replied_ = false;
  bool is_evicted_ = false;
  /// Number of bytes of the current reply that the kernel has accepted.
  std::size_t sent_ = 0;
  /// Number of buffered bytes of the current reply.
  std::size_t queued_ = 0;
  /// Whether libevent might have begun to write the output. If so, write_tls() must not write,
  /// because OpenSSL requires that an incomplete write is repeated with the same bytes.
  bool is_being_written_ = false;
  /// Time of the first byte of the current request, or of the start of its reply.
  std::chrono::steady_clock::time_point started_;
  Pace pace_;
  base::EventBufferPtr head_;
  std::optional<ChunkedRequest> chunked_;
  base::EventPtr deadline_;
  base::EventPtr wake_;
  /// Status 0: none.
  http::Refusal refusal_{.status = 0, .text = {}};
  bool is_logged_ = true;
  /// The refusal of refuse_next_request(). Status 0: none.
  http::Refusal pending_refusal_{.status = 0, .text = {}};
};

}  // namespace quarry::gateway
