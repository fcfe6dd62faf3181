// A non-blocking FastCGI request on a separate connection to the pool's socket.
//
//   connecting ──> sending and reading ──> done (once); destroying the call before that aborts it
//
// If the backlog of a Unix socket is full (EAGAIN), connecting is retried at short intervals. The
// reply is collected in an evbuffer. The owner can take data from the evbuffer before END_REQUEST.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "fastcgi_record.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/fd.h"
#include "quarry/base/socket.h"
#include "quarry/gateway/gateway_options.h"

namespace quarry::gateway {

class FastcgiCall {
 public:
  enum class Outcome {
    kReplied,      // reply() has the header block and body, except data that was taken
    kUnreachable,  // cannot connect
    kBadReply,     // malformed or incomplete, too long, or a refusal
    kTimeout,
  };
  /// Called when reply() has more data. The function can destroy the call.
  using More = std::function<void()>;
  /// Called when the call is done. The function can destroy the call.
  using Done = std::function<void(Outcome)>;

  /// The destination: a listening socket, or a process that receives one end of a socket pair
  /// (base/passed_connections.h).
  struct Destination {
    const base::SocketAddress* address = nullptr;  // not owned
    int passing = -1;
    std::string str() const { return address != nullptr ? address->str() : "the web pages"; }
  };

  /// Creates a call. REQUEST is the output of append_request(). The address in DESTINATION, and
  /// OPTIONS, must outlive the call.
  FastcgiCall(event_base* base, const Destination& destination, const GatewayOptions& options,
              base::EventBufferPtr request, More more, Done done);
  FastcgiCall(const FastcgiCall&) = delete;
  FastcgiCall& operator=(const FastcgiCall&) = delete;

  /// Starts the call. DONE is called only after start() has returned.
  void start();
  /// Stops reading a reply of the page server and suspends the timeout, until resume(). Does
  /// nothing for a reply of a worker, because a worker could not serve other requests during the
  /// pause.
  void pause();
  void resume();

  evbuffer* reply() { return reply_.get(); }
  /// Returns the reason of a failure, for the log.
  const std::string& error() const { return error_; }
  /// Returns the beginning of the pool's FCGI_STDERR stream.
  const std::string& error_output() const { return error_output_; }

 private:
  void connect();
  /// Tries to connect. Returns false on failure, with errno set.
  bool try_to_connect();
  void connected();
  void watch(short what, std::chrono::milliseconds timeout);
  void on_event(short what);
  void on_readable();
  /// Sends a part of the request. Returns whether the whole request was sent.
  bool send();
  void take(std::string_view bytes);
  void finish(Outcome outcome, std::string error = {});
  /// Calls finish() from the event loop.
  void finish_later(Outcome outcome, std::string error);

  enum class Stage { kConnecting, kTalking, kFinishing };

  event_base* base_;
  Destination destination_;
  const GatewayOptions& options_;
  base::EventBufferPtr request_;
  More more_;
  Done done_;
  base::EventBufferPtr reply_;
  ReplyReader reader_;
  Stage stage_ = Stage::kConnecting;
  bool is_paused_ = false;
  Outcome outcome_ = Outcome::kBadReply;
  /// Number of bytes of the reply, including data that was taken.
  std::size_t received_ = 0;
  std::chrono::steady_clock::time_point connect_deadline_;
  std::chrono::milliseconds pause_;
  std::string error_;
  std::string error_output_;
  base::Fd socket_;
  /// Declared after socket_, so that the event is destroyed before the descriptor that it watches.
  base::EventPtr event_;
  short watched_ = 0;
};

}  // namespace quarry::gateway
