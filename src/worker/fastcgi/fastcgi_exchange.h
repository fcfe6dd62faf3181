// One FastCGI request on a connection, read and answered with libfcgi, which no other file uses.
//
// The connection stays ours: libfcgi is given the descriptor (FCGX_Accept_r keeps it only where
// keepConnection is set before) and never closes it, since its way of closing waits for the peer.
#pragma once

#include <fcgiapp.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "request.h"

namespace quarry::worker {

/// Makes libfcgi ready; once a process, before our signal handlers, which it would replace.
/// Errors: kIo.
base::Result<void> start_fastcgi();

struct ExchangeTimeouts {
  std::chrono::milliseconds head{5'000};  // until all parameters are there
  std::chrono::milliseconds read{
      60'000};  // each wait for more of the body, or for the reply to be taken
};

class FastCgiExchange : public BodyReader {
 public:
  /// On the connected socket FD, which stays the caller's and must outlive this (libfcgi may close
  /// it where it finds no request after all; FD is then empty). TIMEOUTS bound the waits for the
  /// peer.
  FastCgiExchange(base::Fd& fd, const ExchangeTimeouts& timeouts);
  ~FastCgiExchange() override;
  FastCgiExchange(const FastCgiExchange&) = delete;
  FastCgiExchange& operator=(const FastCgiExchange&) = delete;

  /// Waits for the request's parameters, and takes nothing off the connection. Nothing is answered
  /// when this fails: the connection is to be closed. Errors: kNotFound (the peer closed without
  /// asking for anything: nothing is wrong), kInvalid (no FastCGI request), kLimit, kBusy (the peer
  /// fell silent), kIo.
  base::Result<void> await_head();
  /// After that: TAKES is shown the request; true: it has passed the connection on.
  bool is_passed_on(const std::function<bool(const Request& request, int connection)>& takes) const;
  /// After await_head(): reads the parameters. Errors: kInvalid (no FastCGI request).
  base::Result<void> read_head();
  /// ON_BODY is told how many bytes of the body were read so far.
  void watch_body(std::function<void(std::size_t size)> on_body) { on_body_ = std::move(on_body); }
  /// Of the request whose head was read. Its views last as long as this object.
  const Request& request() const { return request_; }
  /// Memory is taken as the bytes come.
  base::Result<std::string> read(std::size_t size) override;
  base::Result<void> read_into(const BodySink& sink, std::size_t size) override;
  /// Sends REPLY and ends the request. False: the peer did not take it.
  bool send(const Reply& reply);
  /// After send(): whether the web server keeps the connection, and it is fit for another request.
  bool may_keep() const { return is_kept_ && is_drained_; }
  /// After send(): whether the peer may still be sending what nobody reads. Closing right away
  /// could take the reply from it.
  bool has_unread() const { return !is_drained_; }

 private:
  bool has_peer_left();
  /// Takes an ABORT_REQUEST of this request off the socket, where it is what comes next.
  bool takes_abort();
  bool send_body(std::string_view body);
  /// Waits a moment for more than what has come. Error kIo: the peer is gone, or we have to end.
  base::Result<void> await_more(bool has_some, std::chrono::steady_clock::time_point deadline);
  /// Takes a record of SIZE bytes off the socket, which asks for NAMES, and answers it.
  base::Result<void> answer_get_values(std::size_t size, std::string_view names);
  void take_params();
  /// Up to SIZE bytes of the body into BYTES; fewer only where it has ended.
  std::size_t take_body(char* bytes, std::size_t size);
  /// WANTED bytes were asked for, of which CAME came.
  base::Result<void> end_of_body(std::size_t came, std::size_t wanted);
  /// After a read that brought too little: whether it was broken off and can go on.
  bool goes_on_reading();
  void set_timeout(int option);

  base::Fd& owner_;
  int fd_;
  ExchangeTimeouts timeouts_;
  std::chrono::milliseconds pause_{5};
  FCGX_Request fcgx_{};
  std::string seen_;  // of the head, while it was only looked at
  std::function<void(std::size_t size)> on_body_ = [](std::size_t) {};
  bool is_begun_ = false;
  bool is_whole_ = false;
  bool is_kept_ = false;
  bool is_drained_ = false;
  Request request_;
};

/// Who is at the other end of FD, for the log: an address, or a process of this machine.
std::string peer_of(int fd);

/// Takes what a peer still sends on FD, for a short while, so that it can read the reply.
void drain(int fd);

}  // namespace quarry::worker
