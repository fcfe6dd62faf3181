// The gateway's event loop. The loop forwards requests from evhttp to the pool, and the replies to
// the clients.
#pragma once

#include <vector>

#include "address_turns.h"
#include "connection.h"
#include "connection_bounds.h"
#include "exchange.h"
#include "fastcgi_client.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/log_throttle.h"
#include "quarry/base/result.h"
#include "quarry/gateway/gateway_options.h"
#include "tls_context.h"

namespace quarry::gateway {

class Server final : private Connection::Owner {
 public:
  /// Creates a server. OPTIONS must outlive this object.
  Server(event_base* base, const GatewayOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() override;

  /// Starts accepting connections. Errors: kIo.
  Result<void> start();
  /// Stops accepting connections. Each connection is closed after its next reply, or after a short
  /// time without a request. The loop ends after the last connection has ended.
  void stop();

 private:
  /// The HTTP server of a listening socket.
  struct Front {
    Server* server;
    const FrontSocket* socket;
    base::HttpServerPtr http;
  };

  Result<void> listen(Front& front);
  bufferevent* make_connection(const FrontSocket& socket);
  void on_request(evhttp_request* request);
  /// Redirects the client to the same URL with https.
  void redirect(Exchange& exchange, evhttp_request& request);
  void begin(Exchange& exchange, evhttp_request* request);
  bool is_limited(const Exchange& exchange) const;
  void on_part(Exchange& exchange);
  /// Begins the reply. Returns false if more of the pool's reply is needed first.
  bool begin_reply(Exchange& exchange);
  /// Forwards the available part of a reply after begin_reply(). Returns false if the reply is
  /// longer than declared.
  bool forward_part(Exchange& exchange);
  void on_call_done(Exchange& exchange, FastcgiCall::Outcome outcome);
  void forward(Exchange& exchange, FastcgiCall& call, FastcgiCall::Outcome outcome);
  void forward_reply(Exchange& exchange, FastcgiCall& call);
  /// Aborts a reply by closing the connection. The call destroys EXCHANGE.
  void break_off(Exchange& exchange, std::string_view reason);
  /// Sends an error reply with TEXT to the client. Logs REASON.
  void answer_error(Exchange& exchange, int status, std::string_view text, std::string_view reason);
  /// Sends an error reply with TEXT, without a line in the log.
  void answer_page(Exchange& exchange, int status, std::string_view text);
  /// Records a refusal for the status page.
  void record_refusal(const Connection& connection, int status, std::string_view text);
  /// Returns the pool or the page server, depending on REQUEST.
  FastcgiCall::Destination destination_of(const evhttp_request& request) const;
  void on_accept_failed();
  void update_listening();

  void on_arrived(Connection& connection) override;
  void on_failed(const Connection& connection, std::string_view reason) override;
  void on_replied(Connection& connection) override;
  void on_refused(Connection& connection, const http::Refusal& refusal, bool is_logged) override;
  void on_held(Connection& connection, std::size_t bytes) override;
  void on_released(std::size_t bytes) override { held_ -= bytes; }
  void on_queued(Connection& connection, std::ptrdiff_t bytes) override;
  void on_gone(Connection& connection) override;
  bool stopping() const override { return stopping_; }

  /// The only server of this process, for a callback that cannot get it as an argument.
  inline static Server* of_process_ = nullptr;

  event_base* base_;
  const GatewayOptions& options_;
  /// Number of buffered request bytes of all connections.
  std::size_t held_ = 0;
  bool stopping_ = false;
  bool listening_ = true;
  bool is_paused_ = false;
  base::Event accept_pause_;
  base::Event trim_;
  std::vector<evconnlistener*> listeners_;
  ConnectionBounds bounds_;  // declared before exchanges_, whose registrations refer to it
  AddressTurns turns_;       // declared before exchanges_ too
  Exchanges exchanges_;
  base::LogThrottle failed_clients_log_;
  base::LogThrottle failed_proxies_log_;
  TlsContexts tls_;
  std::vector<Front> fronts_;  // its size does not change after start()
};

}  // namespace quarry::gateway
