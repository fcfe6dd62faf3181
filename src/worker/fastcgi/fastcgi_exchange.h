// Reads and answers one FastCGI request on a connection, with libfcgi. No other file uses libfcgi.
//
// libfcgi uses the descriptor of the connection, but must not close the descriptor: before the
// close, libfcgi would wait for the peer and thus block the worker. Therefore keepConnection, which
// prevents the close, is set before FCGX_Accept_r() is called.
#pragma once

#include <fcgiapp.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "request.h"

namespace quarry::worker {

/// Initializes libfcgi. Call this once per process, before our signal handlers are installed,
/// because libfcgi would replace these handlers. Errors: kIo.
Result<void> start_fastcgi();

struct ExchangeTimeouts {
  std::chrono::milliseconds head{5'000};  // until all parameters have been received
  std::chrono::milliseconds read{
      60'000};  // for each wait until the peer sends more of the body or reads more of the reply
};

class FastCgiExchange : public BodyReader {
 public:
  /// Creates an exchange on FD, the connected socket. FD is not owned and must outlive this object.
  /// If the data is not a request, libfcgi can close the socket; FD is then empty. TIMEOUTS limit
  /// waits for the peer.
  FastCgiExchange(base::Fd& fd, const ExchangeTimeouts& timeouts);
  ~FastCgiExchange() override;
  FastCgiExchange(const FastCgiExchange&) = delete;
  FastCgiExchange& operator=(const FastCgiExchange&) = delete;

  /// Waits for the request's parameters without consuming them. After an error, close the
  /// connection without a reply. Errors: kNotFound (the peer closed the connection without a
  /// request, which is normal), kInvalid (not a FastCGI request), kLimit, kBusy (the peer stopped
  /// sending), kIo.
  Result<void> await_head();
  /// Calls TAKES with the request, and returns whether TAKES has passed the connection on. Call it
  /// after await_head().
  bool is_passed_on(const std::function<bool(const Request& request, int connection)>& takes) const;
  /// Reads the parameters. Call it after await_head(). Errors: kInvalid (not a FastCGI request).
  Result<void> read_head();
  /// Sets a function that is called with the number of bytes of the body that have been read.
  void watch_body(std::function<void(std::size_t size)> on_body) { on_body_ = std::move(on_body); }
  /// Returns the request whose head was read. The request's views are valid for the lifetime of
  /// this object.
  const Request& request() const { return request_; }
  /// Reads the body. Allocates memory only as bytes arrive.
  Result<std::string> read(std::size_t size) override;
  Result<void> read_into(const BodySink& sink, std::size_t size) override;
  /// Sends REPLY and ends the request. Returns false if the peer did not read the reply.
  bool send(const Reply& reply);
  /// Returns whether the web server keeps the connection open and the whole request has been read,
  /// so that the connection can serve another request. Valid only after send().
  bool may_keep() const { return is_kept_ && is_drained_; }
  /// Returns whether the peer might still be sending. If so, closing the connection could destroy
  /// the reply. Valid only after send().
  bool has_unread() const { return !is_drained_; }

 private:
  bool has_peer_left();
  /// Returns whether the next record is an ABORT_REQUEST for this request. If so, consumes the
  /// record.
  bool takes_abort();
  bool send_body(std::string_view body);
  /// Waits for more data. Errors: kIo (the peer has disconnected, or the worker has to exit).
  Result<void> await_more(bool has_some, std::chrono::steady_clock::time_point deadline);
  /// Consumes and answers a GET_VALUES record, which has SIZE bytes and the content NAMES.
  Result<void> answer_get_values(std::size_t size, std::string_view names);
  void take_params();
  /// Reads up to SIZE bytes of the body into BYTES. Reads fewer only at the end of the body.
  std::size_t take_body(char* bytes, std::size_t size);
  /// Returns the result for a read of WANTED bytes that returned CAME bytes.
  Result<void> end_of_body(std::size_t came, std::size_t wanted);
  /// Called after a short read. Returns whether a signal interrupted the read, so that it can
  /// continue.
  bool resume_read();
  void set_timeout(int option);

  base::Fd& owner_;
  int fd_;
  ExchangeTimeouts timeouts_;
  std::chrono::milliseconds pause_{5};
  FCGX_Request fcgx_{};
  std::string seen_;  // the head, which was peeked but not consumed
  std::function<void(std::size_t size)> on_body_ = [](std::size_t) {};
  bool is_begun_ = false;
  bool is_whole_ = false;
  bool is_kept_ = false;
  bool is_drained_ = false;
  Request request_;
};

/// Returns a description of the peer of FD for the log: an address, or a process on this machine.
std::string peer_of(int fd);

/// Discards data that a peer still sends on FD, for a short time, so that the peer can read the
/// reply.
void drain(int fd);

}  // namespace quarry::worker
