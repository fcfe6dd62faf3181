// A visitor's request, on a connection that was passed on: FastCGI with the web server, or with the
// gateway.
//
//   reading ──> handled ──> replying ──> ended ──> gone
//
// A connection is for one request: it is closed after its reply, also where the web server would
// keep it, since its next request may be a sync, which is the workers'.
#pragma once

#include <event2/bufferevent.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "quarry/base/fd.h"
#include "request_reader.h"

namespace quarry::pages {

class PageConnection {
 public:
  struct Limits {
    std::size_t max_body;
    /// Of silence while the request comes, or while the reply is not taken.
    std::chrono::milliseconds timeout;
  };

  class Owner {
   public:
    virtual ~Owner() = default;
    /// BYTES more of requests are held, or fewer.
    virtual void on_held(PageConnection& connection, std::ptrdiff_t bytes) = 0;
    /// Its request is there; IS_TOO_LARGE: but for its body.
    virtual void on_request(PageConnection& connection, bool is_too_large) = 0;
    /// The reply is taken as fast as it comes, again.
    virtual void on_taken(PageConnection& connection) = 0;
    /// The end of it, whatever its state: the owner destroys it in here.
    virtual void on_gone(PageConnection& connection) = 0;
  };

  /// LIMITS and OWNER must outlive it. Use is_valid() next: without memory it is not.
  PageConnection(event_base* base, base::Fd socket, const Limits& limits, Owner& owner);
  PageConnection(const PageConnection&) = delete;
  PageConnection& operator=(const PageConnection&) = delete;
  ~PageConnection();

  bool is_valid() const { return bev_ != nullptr; }
  PageRequest& request() { return reader_.request(); }

  /// The reply begins: with STATUS, which HEAD, its header block, says.
  void begin(int status, std::string_view head);
  /// BYTES more of its body.
  void add(std::string_view bytes);
  /// All that is in BODY, which is left empty.
  void add(evbuffer* body);
  /// The reply is complete. on_gone() follows, when it has been taken.
  void end();
  /// Bytes of the reply that the web server has not taken.
  std::size_t untaken() const;
  /// 0: no reply has begun.
  int status() const { return status_; }
  /// Bytes of the reply's body so far.
  std::uint64_t replied() const { return replied_; }
  std::chrono::steady_clock::time_point began() const { return began_; }

 private:
  enum class State { kReading, kHandled, kEnded };
  struct FreeBev {
    void operator()(bufferevent* bev) const { bufferevent_free(bev); }
  };

  void on_input();
  void on_output();
  void put(std::string_view bytes);
  void put_header(std::uint8_t type, std::size_t size);
  void hold(std::size_t bytes);

  const Limits& limits_;
  Owner& owner_;
  RequestReader reader_;
  State state_ = State::kReading;
  bool is_refused_ = false;  // its body is too large, and not read
  std::size_t held_ = 0;
  int status_ = 0;
  std::uint64_t replied_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::unique_ptr<bufferevent, FreeBev> bev_;
};

}  // namespace quarry::pages
