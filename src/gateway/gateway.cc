#include "quarry/gateway/gateway.h"

#include <event2/event.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "quarry/base/event_handles.h"
#include "quarry/base/log.h"
#include "server.h"

namespace quarry::gateway {
namespace {

using base::LogLevel;

void on_library_message(int severity, const char* message) {
  const LogLevel level = severity == EVENT_LOG_DEBUG  ? LogLevel::kDebug
                         : severity == EVENT_LOG_MSG  ? LogLevel::kNotice
                         : severity == EVENT_LOG_WARN ? LogLevel::kWarning
                                                      : LogLevel::kError;
  base::log(level, "libevent: {}", message);
}

/// Creates the event loop. A changelist saves system calls if an event is added and deleted within
/// one iteration of the loop. A changelist is safe here, because the gateway does not duplicate
/// watched descriptors.
base::EventBasePtr make_base() {
  event_config* config = event_config_new();
  if (config == nullptr) return nullptr;
  event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
  base::EventBasePtr base(event_base_new_with_config(config));
  event_config_free(config);
  return base;
}

/// Returns options.max_connections, or less if the limit on descriptors is too low. Each client
/// needs one descriptor for its connection, and one for its request. Raises the limit if necessary.
std::size_t connections_within_limit(const GatewayOptions& options) {
  const std::size_t wanted = options.max_connections;
  constexpr rlim_t kOwn = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t needed = 2 * static_cast<rlim_t>(wanted) + kOwn;
  if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::min(needed, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= needed) return wanted;
  const std::size_t possible =
      limit.rlim_cur > kOwn + 2 ? static_cast<std::size_t>(limit.rlim_cur - kOwn) / 2 : 1;
  base::log(LogLevel::kWarning,
            "the limit of {} open files allows {} connections instead of {}: raise {}",
            limit.rlim_cur, possible, wanted,
            options.has_rlimit_files ? "rlimit_files" : "the limit (ulimit -n, LimitNOFILE=)");
  return possible;
}

}  // namespace

int run(const GatewayOptions& wanted, const std::function<void()>& reopen_log) {
  event_set_log_callback(on_library_message);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  GatewayOptions options = wanted;
  options.max_connections = connections_within_limit(wanted);
  const base::EventBasePtr base = make_base();
  if (!base) {
    base::log(LogLevel::kError, "cannot create an event loop");
    return 1;
  }
  if (options.refusals) {
    const auto begun = options.refusals->begin();
    if (!begun) base::log(LogLevel::kWarning, "{}", begun.error().message);
  }
  Server server(base.get(), options);
  // Install the handlers before the first connection is accepted. Otherwise, SIGTERM and SIGQUIT
  // would end the process immediately.
  event_base* const loop = base.get();
  const auto persistent = static_cast<short>(EV_SIGNAL | EV_PERSIST);
  base::Event quick(loop, SIGTERM, persistent, [loop] { event_base_loopbreak(loop); });
  base::Event graceful(loop, SIGQUIT, persistent, [&server] { server.stop(); });
  base::Event reopening(loop, SIGUSR1, persistent, reopen_log);
  for (base::Event* const event : {&quick, &graceful, &reopening}) event->wait();
  base::unblock_reopen_signal();
  if (const auto started = server.start(); !started) {
    base::log(LogLevel::kError, "{}", started.error().message);
    return 1;
  }
  event_base_dispatch(loop);
  return 0;
}

}  // namespace quarry::gateway
