#include "stop_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace quarry::worker {
namespace {

volatile sig_atomic_t quit_seen = 0;
volatile sig_atomic_t term_seen = 0;
int event_fd = -1;

void note_signal(int number) {
  const int saved = errno;
  (number == SIGTERM ? term_seen : quit_seen) = 1;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(event_fd, &one, sizeof one);
  errno = saved;
}

base::Result<void> install(int number, int flags) {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = flags;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(number, &action, nullptr) == 0) return {};
  return base::fail_errno("cannot install a signal handler");
}

}  // namespace

base::Result<void> watch_stop_signals() {
  if (event_fd < 0) event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd < 0) return base::fail_errno("cannot make an event descriptor");
  // SIGTERM breaks off what waits for the client, SIGQUIT does not.
  QUARRY_TRY(install(SIGTERM, 0));
  QUARRY_TRY(install(SIGQUIT, SA_RESTART));
  ::signal(SIGPIPE, SIG_IGN);
  return {};
}

int stop_descriptor() {
  return event_fd;
}
bool stop_requested() {
  return quit_seen != 0 || term_seen != 0;
}
bool stop_now_requested() {
  return term_seen != 0;
}

GracefulStopHeld::GracefulStopHeld() {
  sigset_t quit;
  ::sigemptyset(&quit);
  ::sigaddset(&quit, SIGQUIT);
  ::sigprocmask(SIG_BLOCK, &quit, &before_);
}

GracefulStopHeld::~GracefulStopHeld() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace quarry::worker
