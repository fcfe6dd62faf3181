// The courier stores each event once on disk and delivers it to every destination that it matches.
// This is what the program quarry-courier runs after it has read its configuration.
//
//   HandOver (e.g. a backoffice) ── socket ──> Stream "events" ──> one thread per destination
//
// The calling thread waits for signals: SIGTERM and SIGINT stop the courier, SIGUSR1 reopens logs
// and files. Block these signals and ignore SIGPIPE (hold_signals()) before starting any thread.
#pragma once

#include <chrono>
#include <functional>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/courier/options.h"

namespace quarry::courier {

/// How long deliveries in progress may take once the courier is stopping.
inline constexpr std::chrono::milliseconds kEndingTime{5000};

/// Blocks the signals that run() waits for, and resets those that were ignored. Ignores SIGPIPE.
void hold_signals();
/// Serves LISTENER, a non-blocking Unix socket, until a signal stops it. REOPEN reopens the log.
/// Errors: kBusy (another courier uses the directory), and file system errors.
base::Result<void> run(const CourierConfig& config, base::Fd listener,
                       const std::function<void()>& reopen);

}  // namespace quarry::courier
