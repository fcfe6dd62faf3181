#include "quarry/worker/worker.h"

#include <malloc.h>

#include "acceptor.h"
#include "fastcgi.h"
#include "quarry/base/log.h"
#include "request_loop.h"
#include "site.h"
#include "stop_signal.h"

namespace quarry::worker {

namespace {

/// Lets the allocator keep about the memory of one full reply between requests, instead of asking
/// the kernel for fresh pages each time. An idle worker grows by no more than that.
void keep_reply_memory() {
  constexpr int kKept = 6 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kKept);
  ::mallopt(M_MMAP_THRESHOLD, kKept);
}

}  // namespace

int run(const WorkerOptions& options, const WorkerHandles& handles) {
  keep_reply_memory();
  auto ready = start_fastcgi();
  if (ready) ready = watch_stop_signals();
  if (!ready) {
    base::log(base::LogLevel::kAlert, "cannot start: {}", ready.error().message);
    return 1;
  }
  auto acceptor = Acceptor::create(handles.listener, stop_descriptor(), handles.control.fd(),
                                   options.allowed_clients);
  if (!acceptor) {
    base::log(base::LogLevel::kAlert, "cannot start: {}", acceptor.error().message);
    return 1;
  }
  if (auto woken = acceptor->wake_on(reopen_descriptor()); !woken) {
    base::log(base::LogLevel::kAlert, "cannot start: {}", woken.error().message);
    return 1;
  }
  Site site(options, handles.board);
  const LoopOptions loop{options.read_timeout, options.max_requests, options.access_log.get(),
                         options.pool, handles.child_accept};
  serve_requests(*acceptor, site, handles.slot, loop);
  return 0;
}

}  // namespace quarry::worker
