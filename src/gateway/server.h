// The gateway's event loop: evhttp's requests to the pool, the pool's answers back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "address_counts.h"
#include "connection.h"
#include "fastcgi_client.h"
#include "log_throttle.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/result.h"
#include "quarry/gateway/gateway_options.h"
#include "request_params.h"

namespace quarry::gateway {

class Server final : private Connection::Owner {
 public:
  /// OPTIONS must outlive the server.
  Server(event_base* base, const GatewayOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() override;

  /// Accepts from now on. Errors: kIo.
  base::Result<void> start();
  /// Accepts nothing more; a connection ends with its next reply, or after a moment without a
  /// request; the loop ends with the last one.
  void stop();

 private:
  /// A connection, and the request on it if there is one.
  struct Exchange {
    std::unique_ptr<Connection> connection;
    std::unique_ptr<FastcgiCall> call;
    Client client;
    /// For the log: method and target.
    std::string request;
    /// Once a reply has begun to go out: bytes of it that have not come.
    std::optional<std::uint64_t> left;
    /// Of the connection, unless it is a proxy's or local.
    AddressCounts::Place place;
    /// Of the request, where a proxy passes it on.
    AddressCounts::Place request_place;
  };

  bufferevent* make_connection();
  void on_request(evhttp_request* request);
  void begin(Exchange& exchange, evhttp_request* request);
  void on_part(Exchange& exchange);
  /// False: it has to wait for more of it.
  bool begin_reply(Exchange& exchange);
  /// What has come of a reply that has begun goes out. False: it is more than was declared.
  bool pass_on_part(Exchange& exchange);
  void on_answer(Exchange& exchange, FastcgiCall::Outcome outcome);
  void pass_on(Exchange& exchange, FastcgiCall& call, FastcgiCall::Outcome outcome);
  void pass_on_answer(Exchange& exchange, FastcgiCall& call);
  /// The client sees a reply that ends early. EXCHANGE is gone after it.
  void break_off(Exchange& exchange, std::string_view reason);
  /// REASON is for the log: the client is told TEXT.
  void answer_error(Exchange& exchange, int status, std::string_view text, std::string_view reason);
  /// The same, without a line in the log.
  void answer_page(Exchange& exchange, int status, std::string_view text);
  void answer(Exchange& exchange, const Reply& reply);
  std::uint16_t port_of(const Connection& connection) const;
  void on_accept_failed();
  void listen_or_not();

  // Who is let in, and who gives way: crowd.cc.

  /// Who would be missed least of those that could give way to NEWCOMER; null: all keep up, or have
  /// just come. OF_ITS: only those of its address.
  Connection* least_missed(const Connection* newcomer, const AddressCounts::Place* of_its) const;
  bool is_beyond_bound(const AddressCounts::Place& place) const;
  void bound_address(Connection& newcomer, AddressCounts::Place& place);
  /// Whether the request that a proxy passes on has to be refused.
  bool is_one_too_many(Exchange& exchange);
  /// Closes who has taken least of the largest replies, while too much is held of all. The caller's
  /// exchange may be gone after it.
  void bound_replies();
  /// Closes others than NEWCOMER (null: any) while there are too many.
  void make_room(const Connection* newcomer);
  /// Whether there is a place, or somebody to give way.
  bool has_place();
  void look_again_soon();
  void look_again();
  void on_arrived(Connection& connection) override;
  void on_replied(Connection& connection) override;

  void on_refused(Connection& connection, const http::Refusal& refusal) override;
  void on_held(Connection& connection, std::size_t bytes) override;
  void on_released(std::size_t bytes) override { held_ -= bytes; }
  void on_queued(std::ptrdiff_t bytes) override { untaken_ += bytes; }
  void on_cut_off(Connection& connection, std::size_t received) override;
  void on_not_taken(Connection& connection, std::size_t left) override;
  void on_gone(Connection& connection) override;
  bool stopping() const override { return stopping_; }

  event_base* base_;
  const GatewayOptions& options_;
  Connection::Limits client_limits_;
  FastcgiCall::Limits pool_limits_;
  /// Bytes of requests, of all connections.
  std::size_t held_ = 0;
  /// Bytes of replies, of all connections.
  std::ptrdiff_t untaken_ = 0;
  bool stopping_ = false;
  bool listening_ = true;
  bool resting_ = false;
  base::EventPtr rest_;
  /// All places were taken, or more than there are, and nobody could give way.
  bool crowded_ = false;
  base::EventPtr look_again_;
  LogThrottle gone_log_;
  LogThrottle bound_log_;
  /// Of the listening socket, where there is one only; otherwise 0, and each connection is asked.
  std::uint16_t only_port_ = 0;
  std::vector<evconnlistener*> listeners_;
  /// Before exchanges_, which have places in it.
  AddressCounts counts_;
  /// By what evhttp knows of them: their bufferevent.
  std::unordered_map<bufferevent*, Exchange> exchanges_;
  base::HttpServerPtr http_;
};

}  // namespace quarry::gateway
