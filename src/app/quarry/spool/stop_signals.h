// The signals that ask a command to end, as something to wait for beside input: for a command with
// threads, any of which a handler (see interruption.h) could interrupt instead of the one that
// waits.
#pragma once

#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <span>

#include "quarry/base/fd.h"

namespace quarry::app {

class StopSignals {
 public:
  /// What may be waited for at once.
  static constexpr std::size_t kMostSources = 4;

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

  /// Waits until something that SOURCES (kMostSources at most; -1: none) ask for is there, which
  /// is noted in them, a signal comes, or MS milliseconds (-1: any) have passed. Returns whether no
  /// signal has come.
  bool wait(std::span<pollfd> sources, int ms) {
    std::array<pollfd, kMostSources + 1> all{};
    all[0] = {fd_.get(), POLLIN, 0};
    std::ranges::copy(sources, all.begin() + 1);
    if (::poll(all.data(), sources.size() + 1, ms) < 0) all = {};
    if (all[0].revents != 0) take_signal();
    for (std::size_t i = 0; i < sources.size(); ++i) sources[i].revents = all[i + 1].revents;
    return received_ == 0;
  }
  /// The same for MS milliseconds and nothing else.
  bool wait(int ms) { return wait(std::span<pollfd>(), ms); }
  /// 0: none has come.
  int received() const { return received_; }
  /// From now on they end the process, as they would have without this.
  void let_go() { ::sigprocmask(SIG_UNBLOCK, &watched_, nullptr); }

 private:
  void take_signal() {
    signalfd_siginfo signal{};
    if (::read(fd_.get(), &signal, sizeof signal) == sizeof signal) {
      received_ = static_cast<int>(signal.ssi_signo);
    }
  }

  sigset_t watched_{};
  base::Fd fd_;
  int received_ = 0;
};

}  // namespace quarry::app
