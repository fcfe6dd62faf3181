#include "quarry/worker/worker.h"

#include <malloc.h>

#include "fastcgi/acceptor.h"
#include "fastcgi/fastcgi_exchange.h"
#include "fastcgi/stop_signal.h"
#include "quarry/base/log.h"
#include "quarry/control/reopened_logs.h"
#include "request_loop.h"
#include "site/site.h"
#include "site/status_pages.h"

namespace quarry::worker {

namespace {

/// Lets the allocator keep memory for about one full reply between requests, so that it does not
/// have to get new pages from the kernel each time. An idle worker keeps at most kKept bytes.
void keep_reply_memory() {
  constexpr int kKept = 6 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kKept);
  ::mallopt(M_MMAP_THRESHOLD, kKept);
}

/// Prepares this process to serve requests. Errors: kIo.
Result<Acceptor> start(int listener, int control,
                       const std::vector<base::SocketAddress>& allowed_clients) {
  QUARRY_TRY(start_fastcgi());
  QUARRY_TRY(watch_stop_signals());
  QUARRY_TRY_ASSIGN(Acceptor acceptor,
                    Acceptor::create(listener, stop_descriptor(), control, allowed_clients));
  QUARRY_TRY(acceptor.wake_on(reopen_descriptor()));
  return acceptor;
}

int cannot_start(const Error& error) {
  base::log(base::LogLevel::kAlert, "cannot start: {}", error.message);
  return 1;
}

}  // namespace

int run(const WorkerOptions& options, const WorkerHandles& handles) {
  keep_reply_memory();
  auto acceptor = start(handles.listener, handles.control.fd(), options.allowed_clients);
  if (!acceptor) return cannot_start(acceptor.error());
  Site site(options, handles.board, base::ListenQueue::of(handles.listener), handles.control);
  const LoopOptions loop{
      .timeouts = {options.head_timeout, options.read_timeout},
      .max_requests = options.max_requests,
      .access_log = options.access_log.get(),
      .pool = options.pool,
      .child_accept = handles.child_accept,
      .reopen_logs = [&] { control::take_logs(handles.control, options.access_log.get()); }};
  serve_requests(*acceptor, site, handles.slot, loop);
  return 0;
}

int run_status(const StatusServerOptions& options, const StatusServerHandles& handles) {
  keep_reply_memory();
  auto acceptor = start(handles.listener, handles.control.fd(), options.allowed_clients);
  if (!acceptor) return cannot_start(acceptor.error());
  StatusServer server(options.status, handles.pool_board, options.queue);
  // A web server that stalls must not block the status pages, because only one process serves them.
  LoopOptions loop;
  loop.parks_incomplete = true;
  loop.timeouts = {std::chrono::seconds(0), std::chrono::seconds(2)};
  loop.reopen_logs = [&] { control::take_logs(handles.control, nullptr); };
  serve_requests(*acceptor, server, handles.slot, loop);
  return 0;
}

}  // namespace quarry::worker
