// The signals that ask a command to end, as something to wait for beside input: for a command with
// threads, any of which a handler (see interruption.h) could interrupt instead of the one that
// waits.
#pragma once

#include <poll.h>
#include <sys/signalfd.h>

#include <array>
#include <csignal>

#include "quarry/base/fd.h"

namespace quarry::app {

class StopSignals {
 public:
  /// Before any thread is started: they are to leave the signals alone.
  StopSignals() {
    ::sigemptyset(&watched_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&watched_, number);
    ::sigprocmask(SIG_BLOCK, &watched_, nullptr);
    fd_.reset(::signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK));
    ::signal(SIGPIPE, SIG_IGN);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() = default;

  /// Waits until FD (-1: none) can be read, a signal comes, or MS milliseconds (-1: any) have
  /// passed. Returns whether FD can be read and no signal has come.
  bool wait(int fd, int ms) { return wait_for(fd, POLLIN, ms); }
  /// The same for something to be written, for any time.
  bool wait_to_write(int fd) { return wait_for(fd, POLLOUT, -1); }
  /// 0: none has come.
  int received() const { return received_; }
  /// From now on they end the process, as they would have without this.
  void let_go() { ::sigprocmask(SIG_UNBLOCK, &watched_, nullptr); }

 private:
  bool wait_for(int fd, short events, int ms) {
    std::array<pollfd, 2> sources{{{fd_.get(), POLLIN, 0}, {fd, events, 0}}};
    ::poll(sources.data(), sources.size(), ms);
    signalfd_siginfo signal{};
    if (::read(fd_.get(), &signal, sizeof signal) == sizeof signal) {
      received_ = static_cast<int>(signal.ssi_signo);
    }
    return received_ == 0 && sources[1].revents != 0;
  }

  sigset_t watched_{};
  base::Fd fd_;
  int received_ = 0;
};

}  // namespace quarry::app
