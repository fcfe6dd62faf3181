// Event sources for `quarry spool feed` and `quarry spool drain`: signals, and changes in a folder.
// The commands poll these sources together with their other descriptors.
#pragma once

#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "quarry/base/fd.h"

namespace quarry::app {

/// The signals that end a multithreaded command. A signal handler (see interruption.h) is not
/// sufficient, because the kernel might deliver the signal to a thread that is not waiting.
class StopSignals {
 public:
  /// Maximum number of descriptors for one wait.
  static constexpr std::size_t kMaxSources = 4;

  /// Must be created before any thread is started, because new threads inherit the blocked signals.
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

  /// Waits until one of SOURCES is ready, a signal arrives, or MS milliseconds have passed (-1: no
  /// limit). SOURCES has at most kMaxSources entries. The descriptor -1 marks an unused entry.
  /// Stores the results in the revents of SOURCES. Returns false after a signal.
  bool wait(std::span<pollfd> sources, int ms) {
    std::array<pollfd, kMaxSources + 1> all{};
    all[0] = {fd_.get(), POLLIN, 0};
    std::ranges::copy(sources, all.begin() + 1);
    if (::poll(all.data(), sources.size() + 1, ms) < 0) all = {};
    if (all[0].revents != 0) take_signal();
    for (std::size_t i = 0; i < sources.size(); ++i) sources[i].revents = all[i + 1].revents;
    return received_ == 0;
  }
  /// Waits for MS milliseconds or a signal.
  bool wait(int ms) { return wait(std::span<pollfd>(), ms); }
  /// Returns the received signal, or 0.
  int received() const { return received_; }
  /// Restores the default action of the signals. The next signal then ends the process.
  void restore_default() { ::sigprocmask(SIG_UNBLOCK, &watched_, nullptr); }

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

/// A descriptor that becomes readable when a folder changes.
class FolderWatch {
 public:
  /// Watches FOLDER for EVENTS, as in inotify(7). If that fails, the descriptor never becomes
  /// readable.
  FolderWatch(const std::string& folder, std::uint32_t events)
      : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    ::inotify_add_watch(fd_.get(), folder.c_str(), events);
  }
  int fd() const { return fd_.get(); }
  void clear() {
    std::array<char, 4096> events;
    while (::read(fd_.get(), events.data(), events.size()) > 0) {
    }
  }

 private:
  base::Fd fd_;
};

}  // namespace quarry::app
