#include "quarry/pages/pages.h"

#include <event2/event.h>

#include <csignal>
#include <string>

#include "fossil/fossil_process.h"
#include "fossil/fossil_starter.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/log.h"
#include "server.h"

namespace quarry::pages {
namespace {

using base::LogLevel;

void reopen_logs(base::AccessLog* access_log) {
  auto done = base::reopen_log(base::Reopening::kWantsFile);
  if (done && access_log != nullptr) done = access_log->reopen(base::Reopening::kWantsFile);
  if (!done) base::log(LogLevel::kWarning, "{}: going on with the old one", done.error().message);
}

/// Empty, and logged, if PROGRAM does not list them.
PageNames names_of_pages(const std::string& program) {
  auto names = pages_of(program);
  if (names) return *std::move(names);
  base::log(LogLevel::kError, "{}: an alias of its login page is not known as one",
            names.error().message);
  return {};
}

}  // namespace

int run(const Options& options, const ServedRepositories& served, const Handles& handles) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  // Before the event loop is created, since a fork must not share it.
  auto starter = FossilStarter::make(FossilProcess::plan(options, served));
  if (!starter) {
    base::log(LogLevel::kError, "{}", starter.error().message);
    return 1;
  }
  const base::EventBasePtr base(event_base_new());
  if (!base) {
    base::log(LogLevel::kError, "cannot make an event loop");
    return 1;
  }
  if (const auto version = version_of(options.program)) {
    handles.figures.set_version(*version);
    base::log(LogLevel::kNotice, "the pages are made by {} {}", options.program, *version);
  } else {
    base::log(LogLevel::kError, "{}", version.error().message);
  }
  if (handles.refusals != nullptr) {
    const auto begun = handles.refusals->begin();
    if (!begun) base::log(LogLevel::kWarning, "{}", begun.error().message);
  }
  Logins logins(handles.logins, handles.login_failures, names_of_pages(options.program),
                served.trust_remote_user);
  Server server(base.get(), options, served, handles, logins, *starter);
  event_base* const loop = base.get();
  const auto persistent = static_cast<short>(EV_SIGNAL | EV_PERSIST);
  base::Event quick(loop, SIGTERM, persistent, [loop] { event_base_loopbreak(loop); });
  base::Event graceful(loop, SIGQUIT, persistent, [&server] { server.stop(); });
  base::Event reopening(loop, SIGUSR1, persistent,
                        [log = handles.access_log] { reopen_logs(log); });
  bool has_failed = false;
  base::Event reaping(loop, starter->ended_fd(), EV_READ | EV_PERSIST, [&] {
    const auto ended = starter->ended();
    if (!ended) {
      // The master starts another pages process, with its own starter.
      base::log(LogLevel::kError, "{}", ended.error().message);
      has_failed = true;
      event_base_loopbreak(loop);
      return;
    }
    for (const auto& [pid, status] : *ended) server.on_ended(pid, status);
  });
  for (base::Event* const event : {&quick, &graceful, &reopening, &reaping}) event->wait();
  base::unblock_reopen_signal();
  server.start();
  event_base_dispatch(loop);
  return has_failed ? 1 : 0;
}

}  // namespace quarry::pages
