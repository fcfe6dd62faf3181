#include "interruption.h"

#include <array>
#include <csignal>

#include "exit_codes.h"

namespace quarry::app {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t noted = 0;

void note(int signal) {
  noted = signal;
}

void set(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

Interruption::Interruption() {
  for (const int signal : kSignals) {
    if (!is_ignored(signal)) set(signal, note, static_cast<int>(SA_RESETHAND));
  }
}

Interruption::~Interruption() {
  for (const int signal : kSignals) {
    if (!is_ignored(signal)) set(signal, SIG_DFL, 0);
  }
}

int Interruption::signal() {
  return noted;
}

int exit_by_signal(int signal) {
  set(signal, SIG_DFL, 0);
  sigset_t that;
  ::sigemptyset(&that);
  ::sigaddset(&that, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &that, nullptr);
  return kFailed;
}

}  // namespace quarry::app
