#include "quarry/gateway/metrics_server.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "quarry/base/event_handles.h"
#include "quarry/base/log.h"

namespace quarry::gateway {
namespace {

using Make = std::function<MetricsPage(std::string_view)>;

using std::chrono::steady_clock;

// Time limit for a request with its reply, and for the wait until the next request.
constexpr std::chrono::seconds kTimeout{10};
constexpr std::size_t kMaxConnections = 64;
constexpr ev_ssize_t kMaxHeaders = 16 << 10;
constexpr std::chrono::milliseconds kAcceptPauseOfMetrics{100};
// After SIGQUIT, time for requests on connections that are already accepted.
constexpr std::chrono::milliseconds kStopGraceOfMetrics{1'000};

/// The connections of the clients. A connection without a complete request for kTimeout is closed,
/// even if the client sends single bytes. If there are kMaxConnections, a new connection replaces
/// the oldest one.
class MetricsConnections {
 public:
  explicit MetricsConnections(event_base* base)
      : base_(base),
        arrival_(base, -1, 0, [this] { take_arrived(); }),
        sweep_(base, -1, EV_PERSIST, [this] { close_late(); }) {
    sweep_.wait(std::chrono::seconds(1));
  }

  MetricsConnections(const MetricsConnections&) = delete;
  MetricsConnections& operator=(const MetricsConnections&) = delete;

  /// Returns the bufferevent for a new connection, or null if memory is exhausted.
  bufferevent* add() {
    bufferevent* const bev = bufferevent_socket_new(base_, -1, 0);
    if (bev == nullptr) return nullptr;
    // Keep a reference, because evhttp might free the bufferevent before take_arrived().
    bufferevent_incref(bev);
    arrived_.push_back(bev);
    arrival_.fire();
    return bev;
  }

  void took_request(const evhttp_connection* connection) {
    const auto at = std::ranges::find(open_, connection, &OpenConnection::handle);
    if (at == open_.end()) return;
    at->since = steady_clock::now();
    open_.splice(open_.end(), open_, at);
  }

 private:
  struct OpenConnection {
    evhttp_connection* handle;
    steady_clock::time_point since;  // time of the last request, or of the start
  };

  void take_arrived() {
    for (bufferevent* const bev : std::exchange(arrived_, {})) {
      void* handle = nullptr;
      bufferevent_event_cb callback = nullptr;
      bufferevent_getcb(bev, nullptr, nullptr, &callback, &handle);
      // A bufferevent that evhttp has freed does not have a callback.
      if (callback != nullptr) take(static_cast<evhttp_connection*>(handle));
      bufferevent_decref(bev);
    }
  }

  void take(evhttp_connection* handle) {
    if (open_.size() >= kMaxConnections) close_oldest();
    evhttp_connection_set_closecb(
        handle,
        [](evhttp_connection* closed, void* self) {
          static_cast<MetricsConnections*>(self)->open_.remove_if(
              [closed](const OpenConnection& each) { return each.handle == closed; });
        },
        this);
    open_.push_back({handle, steady_clock::now()});
  }

  void close_oldest() {
    evhttp_connection_free(open_.front().handle);  // calls the closecb
    ++closed_;
  }

  void close_late() {
    const auto start = steady_clock::now() - kTimeout;
    while (!open_.empty() && open_.front().since < start) close_oldest();
    if (const std::size_t closed = std::exchange(closed_, 0); closed > 0) {
      base::log(base::LogLevel::kNotice,
                "closed {} connections that did not complete a request within {} s, or were "
                "replaced by new ones",
                closed, kTimeout.count());
    }
  }

  event_base* base_;
  std::vector<bufferevent*> arrived_;
  std::list<OpenConnection> open_;  // by `since`
  std::size_t closed_ = 0;          // since the last message
  base::Event arrival_;
  base::Event sweep_;
};

struct MetricsServer {
  const Make& make;
  MetricsConnections connections;
};

void send_page(evhttp_request* request, int status, const MetricsPage& page) {
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", std::string(page.content_type).c_str());
  evhttp_add_header(headers, "Cache-Control", "no-store");
  evbuffer* const body = evhttp_request_get_output_buffer(request);
  evbuffer_add(body, page.text.data(), page.text.size());
  evhttp_send_reply(request, status, nullptr, nullptr);
}

void on_metrics(evhttp_request* request, void* argument) {
  auto* const server = static_cast<MetricsServer*>(argument);
  server->connections.took_request(evhttp_request_get_connection(request));
  const char* const accept =
      evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
  send_page(request, HTTP_OK, server->make(accept == nullptr ? "" : accept));
}

void on_other(evhttp_request* request, void* /*unused*/) {
  send_page(request, HTTP_NOTFOUND, {"text/plain; charset=utf-8", "the metrics are at /metrics\n"});
}

/// Stops accepting for a while, because too many descriptors are open. Otherwise, the event loop
/// would spin.
void pause_accepting(evconnlistener* listener) {
  evconnlistener_disable(listener);
  const timeval pause = base::to_timeval(kAcceptPauseOfMetrics);
  event_base_once(
      evconnlistener_get_base(listener), -1, EV_TIMEOUT,
      [](evutil_socket_t, short, void* paused) {
        evconnlistener_enable(static_cast<evconnlistener*>(paused));
      },
      listener, &pause);
}

}  // namespace

int run_metrics(int listener, const Make& make, const std::function<void()>& reopen_log) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  const base::EventBasePtr base(event_base_new());
  MetricsServer server{make, MetricsConnections(base.get())};
  const base::HttpServerPtr owner(base ? evhttp_new(base.get()) : nullptr);
  evhttp* const http = owner.get();
  evconnlistener* const accepting =
      http == nullptr
          ? nullptr
          : evconnlistener_new(base.get(), nullptr, nullptr, LEV_OPT_CLOSE_ON_EXEC, 0, listener);
  if (accepting == nullptr || evhttp_bind_listener(http, accepting) == nullptr) {
    base::log(base::LogLevel::kError, "cannot create the HTTP server of the metrics");
    return 1;
  }
  evhttp_set_bevcb(
      http,
      [](event_base*, void* connections) {
        return static_cast<MetricsConnections*>(connections)->add();
      },
      &server.connections);
  evhttp_set_max_headers_size(http, kMaxHeaders);
  evhttp_set_max_body_size(http, 0);
  evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  evhttp_set_cb(http, "/metrics", on_metrics, &server);
  evhttp_set_gencb(http, on_other, nullptr);
  evconnlistener_set_error_cb(accepting,
                              [](evconnlistener* failed, void*) { pause_accepting(failed); });
  event_base* const loop = base.get();
  const auto persistent = static_cast<short>(EV_SIGNAL | EV_PERSIST);
  base::Event quick(loop, SIGTERM, persistent, [loop] { event_base_loopbreak(loop); });
  base::Event graceful(loop, SIGQUIT, persistent, [loop, accepting] {
    evconnlistener_disable(accepting);
    const timeval grace = base::to_timeval(kStopGraceOfMetrics);
    event_base_loopexit(loop, &grace);
  });
  base::Event reopening(loop, SIGUSR1, persistent, reopen_log);
  for (base::Event* const event : {&quick, &graceful, &reopening}) event->wait();
  base::unblock_reopen_signal();
  event_base_dispatch(loop);
  return 0;
}

}  // namespace quarry::gateway
