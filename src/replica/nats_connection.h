// A connection to NATS, and the wrappers of libnats that the parts of NatsStream share. Only this
// header includes that of libnats.
#pragma once

#include <fmt/core.h>
#include <nats/nats.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/replica/stream.h"

namespace quarry::replica::nats {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kRequestTime(4000);

template <typename T, auto kDestroy>
struct Destroy {
  void operator()(T* object) const { kDestroy(object); }
};
template <typename T, auto kDestroy>
using Owned = std::unique_ptr<T, Destroy<T, kDestroy>>;
using Message = Owned<natsMsg, natsMsg_Destroy>;
using Subscription = Owned<natsSubscription, natsSubscription_Destroy>;
using StreamInfo = Owned<jsStreamInfo, jsStreamInfo_Destroy>;

inline std::int64_t nanoseconds(std::chrono::nanoseconds time) {
  return time.count();
}

inline milliseconds until(Clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - Clock::now()));
}

/// Returns a message. DATA may be empty.
Result<Message> new_message(const std::string& subject, const std::string& reply,
                            std::string_view data);
/// Returns the header NAME of MESSAGE, or "".
std::string_view header_of(natsMsg* message, const char* name);
std::string_view content_of(const natsMsg* message);

/// Returns the text for STATUS with the details of this thread's last call. Call it at once.
std::string text_of(natsStatus status);

/// Wakes threads that wait for a connection.
struct Monitor {
  std::mutex mutex;
  std::condition_variable changed;
  bool must_check = false;  // the connection, and whether the stream exists
  bool must_stop = false;
  std::string problem;  // why the stream cannot be used

  void request_check() {
    {
      const std::lock_guard lock(mutex);
      must_check = true;
    }
    changed.notify_all();
  }
};

/// A connection to one of the servers. It is not restored when it is lost: libnats would not try
/// again after a refused login, and would change the order of lost and buffered messages.
class Connection {
 public:
  /// Errors: kInvalid, kNotFound, kDenied, kBusy (no server accepts the connection).
  static Result<std::shared_ptr<Connection>> open(const StreamOptions& options,
                                                  std::shared_ptr<Monitor> monitor);
  explicit Connection(std::shared_ptr<Monitor> monitor) : monitor_(std::move(monitor)) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  natsConnection* get() const { return connection_; }
  jsCtx* jetstream() const { return jetstream_; }
  bool is_up() const { return natsConnection_Status(connection_) == NATS_CONN_STATUS_CONNECTED; }
  const std::string& url() const { return url_; }
  /// Ends SUBSCRIPTION.
  void retire(Subscription subscription);
  /// Returns the text of the server's last refusal since the previous call if it is about SUBJECT, or
  /// about a subject that begins with it; otherwise "".
  std::string take_denial(std::string_view subject) {
    const std::lock_guard lock(monitor_->mutex);
    const bool is_about = denial_.contains(fmt::format("\"{}", subject));
    return is_about ? std::exchange(denial_, "") : "";
  }

 private:
  Result<void> set(natsOptions* target, const StreamOptions& options);
  void on_error(natsConnection* connection, natsStatus status);
  void on_closed();

  const std::shared_ptr<Monitor> monitor_;
  natsConnection* connection_ = nullptr;
  jsCtx* jetstream_ = nullptr;
  std::string url_;
  std::atomic<bool> is_closing_ = false;
  std::string denial_;          // with the monitor's lock
  bool has_callbacks_ = false;  // until the last callback; with the monitor's lock
  std::mutex retired_mutex_;
  std::vector<Subscription> retired_;
};

using Link = std::shared_ptr<Connection>;

/// A subscription.
class Inbox {
 public:
  /// Subscribes to SUFFIX below a subject that nobody else uses. Errors: kBusy.
  static Result<Inbox> open(const Link& link, std::string_view suffix);
  /// Subscribes to SUFFIX below SUBJECT. Errors: kBusy.
  static Result<Inbox> open(const Link& link, std::string subject, std::string_view suffix);
  Inbox(Inbox&&) noexcept = default;
  Inbox& operator=(Inbox&& other) noexcept {
    std::swap(link_, other.link_);
    std::swap(subject_, other.subject_);
    std::swap(subscription_, other.subscription_);
    return *this;
  }
  ~Inbox() {
    if (subscription_) link_->retire(std::move(subscription_));
  }

  const Link& link() const { return link_; }
  const std::string& subject() const { return subject_; }
  natsSubscription* get() const { return subscription_.get(); }

 private:
  Inbox(Link link, std::string subject) : link_(std::move(link)), subject_(std::move(subject)) {}

  Link link_;
  std::string subject_;  // without the suffix
  Subscription subscription_;
};

}  // namespace quarry::replica::nats
