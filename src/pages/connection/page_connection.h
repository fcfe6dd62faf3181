// A request for a page, on a connection that a worker or the gateway has passed on. The peer is the
// web server or the gateway. The protocol is FastCGI.
//
//   reading ──> handled ──> replying ──> ended ──> gone
//
// A connection serves one request and is closed after the reply, even if the web server asks to
// keep it open. A second request on the same connection might be a sync, which only workers can
// answer.
//
// A connection is also closed if the web server does not read any bytes of the reply for
// pages.timeout. The state of the socket does not show this: even while a slow web server reads,
// the socket is unwritable until most of the kernel's buffer was read.
#pragma once

#include <event2/bufferevent.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/cached_page.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/fd.h"
#include "quarry/pages/options.h"
#include "request_reader.h"

namespace quarry::pages {

class PageConnection {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Called when the request has arrived. If IS_TOO_LARGE, the body was discarded.
    virtual void on_request(PageConnection& connection, bool is_too_large) = 0;
    /// Called when the output buffer is empty.
    virtual void on_drained(PageConnection& connection) = 0;
    /// Called when the connection has ended. The owner has to destroy the connection in this call.
    virtual void on_gone(PageConnection& connection) = 0;
  };

  /// Creates a connection. HELD_BY_ALL is the number of buffered bytes of all requests; this
  /// connection adds its own bytes. OPTIONS, OWNER and HELD_BY_ALL must outlive the connection. The
  /// caller has to check is_valid(), because memory might be exhausted.
  PageConnection(event_base* base, base::Fd socket, const Options& options,
                 std::size_t& held_by_all, Owner& owner);
  PageConnection(const PageConnection&) = delete;
  PageConnection& operator=(const PageConnection&) = delete;
  ~PageConnection() { held_by_all_ -= held_; }

  bool is_valid() const { return bev_ != nullptr; }
  PageRequest& request() { return reader_.request(); }
  /// Returns the number of buffered bytes of the request's body.
  std::size_t held() const { return held_; }

  /// Starts the reply. HEAD is the reply's header block, which includes STATUS.
  void begin(int status, std::string_view head);
  /// Adds BYTES to the body.
  void add(std::string_view bytes);
  /// Moves BODY to the end of the reply's body.
  void add(evbuffer* body);
  /// Adds BODY, which refers to PAGE. The bytes of PAGE are not copied.
  void add(std::shared_ptr<const CachedPage> page, const std::vector<BodyPart>& body);
  /// Completes the reply. on_gone() is called after the reply has been sent.
  void end();
  /// Returns the number of bytes of the reply that the web server has not read.
  std::size_t unsent() const;
  /// Returns how many bytes of memory the unread reply takes. A shared page counts in equal parts
  /// for each of its users.
  std::size_t memory() const;
  /// Returns the status, or 0 until the reply starts.
  int status() const { return status_; }
  /// Returns the current size of the reply's body in bytes.
  std::uint64_t replied() const { return replied_; }
  std::chrono::steady_clock::time_point began() const { return began_; }

 private:
  using Header = http::RecordHeaderBytes;
  enum class State { kReading, kHandled, kEnded };

  void on_input();
  void on_output();
  void on_write_timeout();
  void put(std::string_view bytes);
  Header header_of(std::uint8_t type, std::size_t size) const;
  void put_header(std::uint8_t type, std::size_t size);
  /// Records that BYTES of the request are buffered.
  void hold(std::size_t bytes);

  const Options& options_;
  std::size_t& held_by_all_;
  Owner& owner_;
  RequestReader reader_;
  State state_ = State::kReading;
  bool is_refused_ = false;  // the body is too large and is discarded
  std::size_t held_ = 0;
  int status_ = 0;
  std::uint64_t replied_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  /// At the last timeout: the number of bytes that the kernel had not accepted, and the number of
  /// bytes that the web server had not read.
  std::pair<std::size_t, std::size_t> left_{};
  // page_ and headers_ are declared before bev_, whose output refers to their bytes. The headers
  // are not copied into the output, because the output would allocate a large block for each copy.
  std::shared_ptr<const CachedPage> page_;
  std::deque<Header> headers_;
  std::unique_ptr<bufferevent, base::FreeWith<bufferevent_free>> bev_;
};

}  // namespace quarry::pages
