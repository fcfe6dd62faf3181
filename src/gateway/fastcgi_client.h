// One FastCGI request on a connection of its own to the pool's socket, without blocking.
//
//   connecting ──> sending and reading ──> done (once), or destroyed before that, which aborts it
//
// A full backlog of a Unix socket (EAGAIN) is waited for with short pauses. The reply gathers in an
// evbuffer, from which the owner may take what has come before END_REQUEST does.
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

namespace quarry::gateway {

class FastcgiCall final : private ReplySink {
 public:
  struct Limits {
    std::chrono::milliseconds connect_timeout;
    /// Of silence, not in all.
    std::chrono::milliseconds reply_timeout;
    std::size_t max_reply;
  };
  enum class Outcome {
    kAnswered,     // reply() holds header block and body, or what was not taken of them
    kUnreachable,  // nobody listens there
    kBadAnswer,    // broken records, a refusal, no end, or too long
    kTimeout,
  };
  /// More of the reply is in reply(). The call may be destroyed in it.
  using More = std::function<void()>;
  /// The call may be destroyed in it.
  using Done = std::function<void(Outcome)>;

  /// Where it goes: to a socket that listens, or by one of a pair that is passed on
  /// (base/passed_connections.h).
  struct Way {
    const base::SocketAddress* address = nullptr;  // not owned
    int passing = -1;
    std::string str() const { return address != nullptr ? address->str() : "the web pages"; }
  };

  /// REQUEST is what append_request() made. What WAY says, and LIMITS, must outlive the call.
  FastcgiCall(event_base* base, const Way& way, const Limits& limits, base::EventBufferPtr request,
              More more, Done done);

  /// Begins. DONE is never called from within start().
  void start();

  evbuffer* reply() { return reply_.get(); }
  /// What went wrong, for the log.
  const std::string& error() const { return error_; }
  /// What the pool wrote to its standard error, cut at a bound.
  const std::string& error_output() const { return error_output_; }

 private:
  void connect();
  /// False, and errno says why.
  bool try_to_connect();
  void connected();
  void watch(short what, std::chrono::milliseconds timeout);
  void on_event(short what);
  void on_readable();
  /// False: not yet all.
  bool send();
  void take(std::string_view bytes);
  void finish(Outcome outcome, std::string error = {});
  /// As finish(), from the event loop.
  void finish_later(Outcome outcome, std::string error);

  void on_stdout(std::string_view bytes) override;
  void on_stderr(std::string_view bytes) override;

  enum class Stage { kConnecting, kTalking, kFinishing };

  event_base* base_;
  Way way_;
  const Limits& limits_;
  base::EventBufferPtr request_;
  More more_;
  Done done_;
  base::EventBufferPtr reply_;
  ReplyReader reader_;
  Stage stage_ = Stage::kConnecting;
  Outcome outcome_ = Outcome::kBadAnswer;
  bool too_long_ = false;
  /// Bytes of reply so far, those that were taken included.
  std::size_t received_ = 0;
  std::chrono::steady_clock::time_point connect_deadline_;
  std::chrono::milliseconds pause_;
  std::string error_;
  std::string error_output_;
  base::Fd socket_;
  /// After socket_: it must go before the descriptor that it watches.
  base::EventPtr event_;
  short watched_ = 0;
};

}  // namespace quarry::gateway
