// The HTTP server of the metrics, for Prometheus and other scrapers:
//
//   GET /metrics   the metrics; other paths are answered with 404, other methods with 501
//
// The server runs in a child of the master, in one thread. Slow clients do not block other clients:
// requests have a time limit, and new connections replace old ones.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace quarry::gateway {

struct MetricsPage {
  std::string_view content_type;
  std::string text;
};

/// Serves on LISTENER until SIGTERM or SIGQUIT. After SIGQUIT, clients that are already connected
/// have a second for their requests. MAKE returns the page for a value of the header Accept.
/// SIGUSR1 calls REOPEN_LOG. Returns the exit code of the process: 0, or 1 if the server could not
/// start (the reason is logged).
int run_metrics(int listener, const std::function<MetricsPage(std::string_view accept)>& make,
                const std::function<void()>& reopen_log);

}  // namespace quarry::gateway
