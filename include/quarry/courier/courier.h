// The courier stores each event once on disk. It delivers the event to every destination whose
// filters match.
//
//   HandOver (e.g. a backoffice) ── socket ──> Stream "events" ──> one thread per destination
//
// Each pool also has its own courier, which only runs the hooks of the pool's repositories
// (hooks_of_pool()).
//
// run() waits for signals in the calling thread. SIGTERM and SIGINT stop the courier; SIGUSR1
// reopens logs and files. Call hold_signals() before any thread is started.
#pragma once

#include <chrono>
#include <functional>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/courier/options.h"

namespace quarry::courier {

/// Time limit for in-flight deliveries when the courier stops. It stops programs and hooks first:
/// after this time, they get SIGTERM and, two seconds later, SIGKILL. Until they have exited, the
/// courier accepts events and delivers them to its other destinations, whose deliveries then get
/// the same time limit. The master must wait for the programs before it kills the courier, because
/// a program gets SIGKILL as soon as its courier is killed.
inline constexpr std::chrono::milliseconds kEndingTime{1500};

/// Blocks the signals that run() waits for. If the parent process made this process ignore SIGTERM
/// or SIGUSR1, resets the signal. Otherwise run() would never receive the signal. Ignores SIGPIPE.
void hold_signals();
/// Accepts events on LISTENER, a non-blocking Unix socket, until a signal stops the courier. REOPEN
/// reopens the log. Errors: kBusy (another courier uses the directory), and file system errors.
Result<void> run(const CourierConfig& config, base::Fd listener,
                 const std::function<void()>& reopen);

}  // namespace quarry::courier
