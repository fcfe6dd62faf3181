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

/// With a changelist, an event that is added and deleted within one iteration of the loop costs no
/// system call. This is only safe for programs that do not duplicate watched descriptors.
base::EventBasePtr make_base() {
  event_config* config = event_config_new();
  if (config == nullptr) return nullptr;
  event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
  base::EventBasePtr base(event_base_new_with_config(config));
  event_config_free(config);
  return base;
}

/// The maximum number of clients: each needs a descriptor, and another one while it is served. Raises
/// the limit of descriptors as far as possible.
std::size_t connections_within_limit(std::size_t wanted) {
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
            "{} open files allow {} connections, not {}: raise the limit (ulimit -n)",
            limit.rlim_cur, possible, wanted);
  return possible;
}

/// Unlike a worker, the gateway does not exit if it may not open the log: new clients would have to
/// wait until its slowest client has finished.
void reopen_log(evutil_socket_t, short, void*) {
  const auto done = base::reopen_log(base::Reopening::kWantsFile);
  if (!done) base::log(LogLevel::kWarning, "{}: going on with the old one", done.error().message);
}

base::EventPtr on_signal(event_base* base, int signal, event_callback_fn callback, void* argument) {
  base::EventPtr event(evsignal_new(base, signal, callback, argument));
  if (event) event_add(event.get(), nullptr);
  return event;
}

}  // namespace

int run(const GatewayOptions& wanted) {
  event_set_log_callback(on_library_message);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  GatewayOptions options = wanted;
  options.max_connections = connections_within_limit(wanted.max_connections);
  const base::EventBasePtr base = make_base();
  if (!base) {
    base::log(LogLevel::kError, "cannot make an event loop");
    return 1;
  }
  if (options.refusals) {
    const auto begun = options.refusals->begin();
    if (!begun) base::log(LogLevel::kWarning, "{}", begun.error().message);
  }
  Server server(base.get(), options);
  // Before the start, so that signals work from the first connection on.
  const base::EventPtr quick = on_signal(
      base.get(), SIGTERM,
      [](evutil_socket_t, short, void* loop) {
        event_base_loopbreak(static_cast<event_base*>(loop));
      },
      base.get());
  const base::EventPtr graceful = on_signal(
      base.get(), SIGQUIT,
      [](evutil_socket_t, short, void* stopped) { static_cast<Server*>(stopped)->stop(); },
      &server);
  const base::EventPtr reopening = on_signal(base.get(), SIGUSR1, reopen_log, nullptr);
  base::unblock_reopen_signal();
  if (const auto started = server.start(); !started || !quick || !graceful || !reopening) {
    base::log(LogLevel::kError, "{}",
              started ? "cannot watch for signals" : started.error().message);
    return 1;
  }
  event_base_dispatch(base.get());
  return 0;
}

}  // namespace quarry::gateway
