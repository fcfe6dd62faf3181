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
    sigset_t watched;
    ::sigemptyset(&watched);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&watched, number);
    ::sigprocmask(SIG_BLOCK, &watched, nullptr);
    fd_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    ::signal(SIGPIPE, SIG_IGN);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() = default;

  /// Waits until FD (-1: none) can be read, a signal comes, or MS milliseconds (-1: any) have
  /// passed. Returns whether FD can be read and no signal has come.
  bool wait(int fd, int ms) {
    std::array<pollfd, 2> sources{{{fd_.get(), POLLIN, 0}, {fd, POLLIN, 0}}};
    ::poll(sources.data(), sources.size(), ms);
    signalfd_siginfo signal{};
    if (::read(fd_.get(), &signal, sizeof signal) == sizeof signal) {
      received_ = static_cast<int>(signal.ssi_signo);
    }
    return received_ == 0 && sources[1].revents != 0;
  }
  /// 0: none has come.
  int received() const { return received_; }

 private:
  base::Fd fd_;
  int received_ = 0;
};

}  // namespace quarry::app
