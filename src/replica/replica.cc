#include "quarry/replica/replica.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <system_error>

#include "node.h"
#include "quarry/base/log.h"
#include "quarry/base/service_manager.h"

namespace quarry::replica {
namespace {

using base::LogLevel;

// Time for the threads to end after a signal.
constexpr unsigned kEndingSeconds = 2;
constexpr std::chrono::milliseconds kBusyTime{1000};
constexpr std::chrono::minutes kSinceBefore{1};
constexpr std::size_t kContentCache = std::size_t{1} << 20;  // for each open repository

sigset_t awaited_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) ::sigaddset(&signals, number);
  return signals;
}

}  // namespace

void hold_signals() {
  const sigset_t signals = awaited_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Restore the default actions, because an ignored signal never arrives, even if it is blocked.
  // SIGINT is not changed, because the shell ignores it for background jobs.
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGUSR1, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
}

Result<void> run(const ReplicaOptions& options, Stream& stream, base::Fd listener,
                 const std::function<void()>& reopen_logs) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (::access(options.folder.c_str(), W_OK | X_OK) != 0) {
    return fail_errno("cannot write to the folder {}", options.folder.string());
  }
  const sigset_t awaited = awaited_signals();
  const base::Fd signals(::signalfd(-1, &awaited, SFD_CLOEXEC));
  if (!signals) return fail_errno("signalfd");
  ReplicaOptions own = options;
  // One thread applies the entries for all repositories, so it must not wait long for one of them.
  own.open.busy_timeout = kBusyTime;
  own.open.content_cache_size = kContentCache;
  own.since = {base::system_clock().now().value - std::chrono::milliseconds(kSinceBefore).count()};
  Node node(own, stream);
  base::log(LogLevel::kNotice, "ready: host {} of the group {}", options.stream.host,
            options.stream.group);
  base::notify_service_manager("READY=1");
  QUARRY_TRY(node.serve(std::move(listener), signals.get(), [&] {
    signalfd_siginfo signal{};
    if (::read(signals.get(), &signal, sizeof signal) < 0) return true;
    if (signal.ssi_signo != SIGUSR1) return false;
    reopen_logs();
    return true;
  }));
  base::log(LogLevel::kNotice, "stopping");
  // A publication can wait for servers for a long time. It can be interrupted safely: the next start
  // publishes it again.
  ::signal(SIGALRM, [](int) { ::_exit(0); });
  ::alarm(kEndingSeconds);
  node.stop();
  return {};
}

}  // namespace quarry::replica
