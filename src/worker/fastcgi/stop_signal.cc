#include "stop_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "quarry/base/log.h"

namespace quarry::worker {
namespace {

volatile sig_atomic_t quit_seen = 0;
volatile sig_atomic_t term_seen = 0;
volatile sig_atomic_t reopen_seen = 0;
int event_fd = -1;
int reopen_fd = -1;

void announce(int fd) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(fd, &one, sizeof one);
}

void note_signal(int number) {
  const int saved = errno;
  (number == SIGTERM ? term_seen : quit_seen) = 1;
  announce(event_fd);
  errno = saved;
}

void note_reopening(int /*number*/) {
  const int saved = errno;
  reopen_seen = 1;
  announce(reopen_fd);
  errno = saved;
}

Result<void> install(int number, int flags, void (*handler)(int) = note_signal) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(number, &action, nullptr) == 0) return {};
  return fail_errno("cannot install a signal handler");
}

}  // namespace

Result<void> watch_stop_signals() {
  if (event_fd < 0) event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (reopen_fd < 0) reopen_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd < 0 || reopen_fd < 0) return fail_errno("cannot create an event descriptor");
  // Only SIGTERM interrupts system calls that wait for the client: its handler is installed without
  // SA_RESTART.
  QUARRY_TRY(install(SIGTERM, 0));
  QUARRY_TRY(install(SIGQUIT, SA_RESTART));
  QUARRY_TRY(install(SIGUSR1, SA_RESTART, note_reopening));
  base::unblock_reopen_signal();
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

int reopen_descriptor() {
  return reopen_fd;
}
bool take_reopen_request() {
  if (reopen_seen == 0) return false;
  // Clear the flag first, so that a signal in between is handled next time.
  reopen_seen = 0;
  std::uint64_t count = 0;
  [[maybe_unused]] const auto ignored = ::read(reopen_fd, &count, sizeof count);
  return true;
}

GracefulStopHeld::GracefulStopHeld() {
  sigset_t quit;
  ::sigemptyset(&quit);
  ::sigaddset(&quit, SIGQUIT);
  ::sigaddset(&quit, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &quit, &before_);
}

GracefulStopHeld::~GracefulStopHeld() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace quarry::worker
