#include "quarry/gateway/metrics_server.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <chrono>
#include <csignal>
#include <string>

#include "quarry/base/event_handles.h"
#include "quarry/base/log.h"

namespace quarry::gateway {
namespace {

using Make = std::function<MetricsPage(std::string_view)>;

constexpr int kTimeoutSeconds = 10;
constexpr ev_ssize_t kMaxHeaders = 16 << 10;
constexpr std::chrono::milliseconds kAcceptPauseOfMetrics{100};
// After SIGQUIT, time for requests on connections that are already accepted.
constexpr std::chrono::milliseconds kStopGraceOfMetrics{1'000};

void send_page(evhttp_request* request, int status, const MetricsPage& page) {
  evkeyvalq* const headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", std::string(page.content_type).c_str());
  evhttp_add_header(headers, "Cache-Control", "no-store");
  evbuffer* const body = evhttp_request_get_output_buffer(request);
  evbuffer_add(body, page.text.data(), page.text.size());
  evhttp_send_reply(request, status, nullptr, nullptr);
}

void on_metrics(evhttp_request* request, void* make) {
  const char* const accept =
      evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
  send_page(request, HTTP_OK, (*static_cast<const Make*>(make))(accept == nullptr ? "" : accept));
}

void on_other(evhttp_request* request, void* /*unused*/) {
  send_page(request, HTTP_NOTFOUND, {"text/plain; charset=utf-8", "the metrics are at /metrics\n"});
}

/// Stops accepting for a while, because too many descriptors are open. The loop would otherwise
/// report the waiting connection continuously.
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
  evhttp_set_timeout(http, kTimeoutSeconds);
  evhttp_set_max_headers_size(http, kMaxHeaders);
  evhttp_set_max_body_size(http, 0);
  evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  evhttp_set_cb(http, "/metrics", on_metrics, const_cast<Make*>(&make));
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
